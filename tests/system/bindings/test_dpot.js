// The Node module against a server that bindings.sh has prepared; its world comes on stdin.
'use strict';
const assert = require('node:assert/strict');
const {spawnSync} = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const test = require('node:test');
const {setTimeout: sleep} = require('node:timers/promises');
const dpot = require('dpot');

const world = JSON.parse(fs.readFileSync(process.env.DPOT_WORLD, 'utf8'));
const SECRET = 0.123456789; // in no error

function settings(name, more) {
  return {
    folder: path.join(world.folder, name.replaceAll(' ', '_')), server_url: world.url, pin: world.pin,
    campaign_epsilon_cap: 4, window_epsilon_cap: 8, lifetime_epsilon_cap: 8, window_seconds: 86400,
    send_delay_ms: 1, ...more,
  };
}

async function open(t, more) {
  const client = await dpot.Client.open(settings(t.name, more));
  t.after(() => client.close());
  return client;
}

// Pumps until nothing waits; returns how many were accepted.
async function flush(client) {
  for (let accepted = 0; ;) {
    const result = await client.pump(30000);
    accepted += result.n_accepted;
    if (result.next_due_ms === null) {
      return accepted;
    }
    await sleep(Math.max(0, result.next_due_ms - Date.now()) + 1);
  }
}

async function refused(code, kind, call) {
  const error = await call().then(() => assert.fail(`not refused with ${code}`), (error) => error);
  assert.ok(error instanceof dpot.DpotError, String(error));
  assert.deepEqual([error.code, error.kind], [code, kind]);
  assert.ok(error.message.startsWith(code + ': '));
  return error;
}

test('each kind of data is reported once and accepted', async (t) => {
  const client = await open(t, {groups: {[world.points]: 1}});
  for (const name of ['points', 'histogram', 'vector']) {
    await client.enroll(world[name]);
  }
  const {REPORTED, PENDING, DONE} = dpot.Outcome;
  const places = [[0.25, 0.5], new Float32Array([0.75, 0.75])];
  assert.equal(await client.submitPoints(world.points, places, {weights: [1, 2]}), REPORTED);
  assert.equal(await client.submitPoints(world.points, new Float64Array(4), {dim: 2}), PENDING);
  const cells = Float64Array.from({length: 16}, (_, i) => i);
  assert.equal(await client.submitHistogram(world.histogram, cells), REPORTED);
  assert.equal(cells[15], 15); // only copies are wiped
  assert.equal(await client.submitVector(Buffer.from(world.vector, 'hex'), [0.5, 0, 0.25]), REPORTED);
  assert.equal((await client.status()).n_pending, 3);
  assert.match(await client.statement(), /label "b" openly/);
  assert.equal(await flush(client), 3);
  const status = await client.status();
  assert.deepEqual([status.n_submitted, status.n_accepted, status.accountant], [3, 3, 'basic']);
  assert.ok(Math.abs(status.spent_epsilon - 6) < 0.1);
  assert.equal(await client.submitPoints(world.points, null), DONE);
  const info = await client.campaign(world.points);
  assert.deepEqual([info.spent_epsilon, info.n_numbers, info.is_vector], [2, 16, false]);
});

test('a campaign is imported and reported later', async (t) => {
  const offline = await open(t, {server_url: null, group: 0});
  assert.equal(await offline.importCampaign(fs.readFileSync(world.signed)), world.points);
  await refused('DPOT_ERR_STATE', 'call', () => offline.pump());
  await offline.submitPoints(world.points, []);
  await offline.close();
  assert.equal(await flush(await open(t, {group: 0})), 1);
});

test('refusals have a code, a kind and a sentence', async (t) => {
  const client = await open(t, {lifetime_epsilon_cap: 3});
  await refused('DPOT_ERR_NOT_FOUND', 'data', () => client.enroll('00'.repeat(16)));
  await client.enroll(world.vector);
  await refused('DPOT_ERR_SHAPE', 'data', () => client.submitVector(world.vector, [SECRET]));
  await refused('DPOT_ERR_SHAPE', 'data', () => client.submitVector(world.vector, []));
  await client.enroll(world.histogram);
  await client.submitHistogram(world.histogram);
  const error = await refused('DPOT_ERR_BUDGET', 'privacy', () => client.submitVector(world.vector, [SECRET, 0, 0]));
  assert.match(error.message, /lifetime/);
  assert.equal(error.status, -300);
  await client.withdraw();
  assert.equal((await client.status()).n_dropped_withdrawn, 1);
  await refused('DPOT_ERR_CONSENT', 'privacy', () => client.enroll(world.points));
  await client.grant();
  await client.expect(['00'.repeat(32)]);
  await refused('DPOT_ERR_UNEXPECTED', 'privacy', () => client.enroll(world.points));
  await client.expect([]);
  await client.enroll(world.points);
});

test('settings are refused by key and value', async (t) => {
  const soon = await refused('DPOT_ERR_ARGUMENT', 'call', () => open(t, {window_seconds: 'soon'}));
  assert.match(soon.message, /window_seconds: "soon"/);
  assert.match((await refused('DPOT_ERR_ARGUMENT', 'call', () => open(t, {windows: 1}))).message, /windows/);
  await refused('DPOT_ERR_CAP_UNSET', 'privacy', () => open(t, {lifetime_epsilon_cap: null}));
  await refused('DPOT_ERR_IO', 'temporary', () => open(t, {folder: '/dev/null'}));
  await assert.rejects(open(t, {folder: 'a\0b'}), TypeError);
  await assert.rejects(open(t, {groups: {12: 1}}), TypeError);
});

test('a failed pump says what waits', async (t) => {
  const before = await open(t);
  await before.enroll(world.histogram);
  await before.submitHistogram(world.histogram, new Array(16).fill(1));
  await before.close();
  const client = await open(t, {server_url: 'http://127.0.0.1:1'});
  let error = null;
  while (!error) {
    await sleep(Math.max(0, (await client.status()).next_due_ms - Date.now()) + 1);
    error = await client.pump(30000).then(() => null, (error) => error);
  }
  assert.deepEqual([error.code, error.result.n_pending], ['DPOT_ERR_NETWORK', 1]);
  await client.withdraw();
});

test('data are in no error', async (t) => {
  const client = await open(t);
  await client.enroll(world.points);
  for (const points of [[[SECRET, SECRET], [SECRET]], [[SECRET, '0.123456789']], [[SECRET, null]], SECRET,
    String(SECRET), [[SECRET, 1n]], [[SECRET], SECRET], {x: SECRET}]) {
    const error = await client.submitPoints(world.points, points).catch((error) => error);
    assert.ok(error instanceof TypeError, String(error));
    assert.doesNotMatch(error.stack, /0\.12/);
  }
  await assert.rejects(client.submitPoints(world.points, [[SECRET, 0]], {weights: [1, 2]}), TypeError);
  await assert.rejects(client.submitPoints(world.points, [SECRET, 0, 1], {dim: 2}), TypeError);
  const error = await refused('DPOT_ERR_SHAPE', 'data', () => client.submitPoints(world.points, [[SECRET]]));
  assert.doesNotMatch(error.stack, /0\.12/);
  assert.equal((await client.status()).n_submitted, 0);
});

test('a closed client is not used', async (t) => {
  const client = await open(t);
  const before = client.status();
  await Promise.all([client.close(), client.close()]);
  await client.close();
  assert.equal((await before).n_submitted, 0);
  for (const call of ['status', 'pump', 'statement', 'withdraw']) {
    await assert.rejects(client[call](), /closed/);
  }
});

test('calls at once are made one after the other', async (t) => {
  const client = await open(t);
  const calls = [];
  for (let i = 0; i < 50; i++) {
    calls.push(client.status(), refused('DPOT_ERR_NOT_FOUND', 'data', () => client.campaign('11'.repeat(16))));
  }
  const done = await Promise.all(calls);
  assert.equal(done[98].n_submitted, 0);
});

test('consent is withdrawn without a client', async (t) => {
  const client = await open(t);
  await client.enroll(world.histogram);
  await dpot.withdraw(settings(t.name).folder);
  await refused('DPOT_ERR_CONSENT', 'privacy', () => client.enroll(world.points));
  await refused('DPOT_ERR_NOT_FOUND', 'data', () => dpot.withdraw(world.folder));
});

test('a stack that koffi has fixed before is refused with what to do', () => {
  const program = `require('koffi').load(process.env.DPOT_LIBRARY).func('const char *dpot_version()')();
    require('dpot').version()`;
  const run = spawnSync(process.execPath, ['-e', program], {encoding: 'utf8'});
  assert.equal(run.status, 1);
  assert.match(run.stderr, /first call koffi\.config\(\{async_stack_size: 1048576\}\)/);
});

test('the version is that of the library', () => {
  assert.match(dpot.version(), /^\d+\.\d+\.\d+$/);
});
