// libdpot in Node: local differential privacy on the device. Types and calls: dpot.d.ts.
//
//   const dpot = require('./dpot');
//   const client = await dpot.Client.open({folder: 'state', server_url: 'https://pool.example.org', pin: PIN,
//     campaign_epsilon_cap: 4, window_epsilon_cap: 4, window_seconds: 86400, lifetime_epsilon_cap: 20});
//   await client.enroll(CAMPAIGN);
//   await client.submitPoints(CAMPAIGN, [[40.71, -74.01], [34.05, -118.24]]);
//   await client.pump(10000);
//   await client.close();
//
// Needs Node 18, koffi 2 from npm, and libdpot.so.0, searched where the system searches libraries;
// DPOT_LIBRARY in the environment is its path. Calls run on worker threads, those of one client one
// after the other. Data are in no error, and the copies made of them here are wiped.
'use strict';
const koffi = require('koffi');

const JSON_SIZE = 4096;
const ERROR_SIZE = 400;
// koffi runs asynchronous calls on a stack of its own without a guard page, of 128 KiB by default: too little to
// rely on under libcurl and TLS.
const STACK_SIZE = 1 << 20;

const PROTOTYPES = [
  'const char *dpot_version()',
  'const char *dpot_status_name(int status)',
  'const char *dpot_status_text(int status)',
  'int dpot_settings_new(_Out_ void **settings)',
  'int dpot_settings_set(void *settings, const char *key, const char *value, void *text, size_t cap)',
  'void dpot_settings_free(void *settings)',
  'int dpot_client_open_settings(void *settings, _Out_ void **client, void *text, size_t cap)',
  'void dpot_client_close(void *client)',
  'const char *dpot_client_last_error(void *client)',
  'int dpot_client_enroll(void *client, void *id)',
  'int dpot_client_import(void *client, void *data, size_t len, void *id)',
  'int dpot_client_expect(void *client, void *digests, size_t n)',
  'int dpot_client_submit_points(void *client, void *id, double *points, double *weights, size_t n, uint32_t dim, void *outcome)',
  'int dpot_client_submit_histogram(void *client, void *id, double *histogram, size_t size, void *outcome)',
  'int dpot_client_submit_vector(void *client, void *id, double *vector, uint32_t dim, void *outcome)',
  'int dpot_client_withdraw(void *client)',
  'int dpot_client_grant(void *client)',
  'int dpot_client_pump_json(void *client, uint32_t deadline_ms, void *text, size_t cap)',
  'int dpot_client_get_status_json(void *client, void *text, size_t cap)',
  'int dpot_client_get_campaign_json(void *client, void *id, void *text, size_t cap)',
  'int dpot_client_get_statement(void *client, void *text, size_t cap)',
  'int dpot_filesystem_posix_new(const char *path, _Out_ void **files)',
  'void dpot_filesystem_posix_free(void *files)',
  'int dpot_folder_withdraw(void *files, void *text, size_t cap)',
];

let loaded = null;
function library() {
  if (!loaded) {
    if (koffi.config().async_stack_size < STACK_SIZE) {
      try {
        koffi.config({async_stack_size: STACK_SIZE});
      } catch {
        throw new Error('koffi has loaded another library already: first call ' +
            `koffi.config({async_stack_size: ${STACK_SIZE}}), or dpot.version()`);
      }
    }
    const file = koffi.load(process.env.DPOT_LIBRARY || 'libdpot.so.0');
    const functions = {};
    for (const prototype of PROTOTYPES) {
      functions[prototype.match(/(dpot_\w+)\(/)[1]] = file.func(prototype);
    }
    loaded = functions;
  }
  return loaded;
}

// Calls a function on a worker thread; its arguments live as long.
function start(name, ...args) {
  const called = new Promise((resolve, reject) => {
    library()[name].async(...args, (error, result) => error ? reject(error) : resolve(result));
  });
  return called.finally(() => args.splice(0));
}

function textOf(buffer) {
  return buffer.toString('utf8', 0, buffer.indexOf(0));
}

// ---- errors ----

const KINDS = [[-99, 'call'], [-199, 'temporary'], [-299, 'data'], [-399, 'privacy'], [-Infinity, 'fatal']];

class DpotError extends Error {
  constructor(status, sentence) {
    const code = library().dpot_status_name(status);
    super(`${code}: ${sentence || library().dpot_status_text(status)}`);
    this.name = 'DpotError';
    this.code = code;
    this.status = status;
    this.kind = KINDS.find(([least]) => status >= least)[1];
    this.result = null;
  }
}

function check(status, sentence) {
  if (status !== 0) {
    throw new DpotError(status, sentence);
  }
}

// ---- arguments ----

// Bytes, given as such or in hexadecimal.
function binary(name, value, size) {
  const data = typeof value === 'string' && /^[0-9a-fA-F]*$/.test(value) ? Buffer.from(value, 'hex')
      : value instanceof Uint8Array ? Buffer.from(value) : Buffer.alloc(0);
  if (data.length !== size) {
    throw new TypeError(`${name}: give ${2 * size} hexadecimal digits, or ${size} bytes`);
  }
  return data;
}

function setting(name, value) {
  const text = value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value);
  if (text.includes('\0')) {
    throw new TypeError(`${name}: has a NUL`);
  }
  return text;
}

function isList(data) {
  return Array.isArray(data) || (ArrayBuffer.isView(data) && !(data instanceof DataView));
}

// A copy of private numbers in memory that V8 does not move, and its shape. null: the public default.
class Numbers {
  constructor(name, data) {
    this.array = null;
    this.shape = [0];
    if (data === null || data === undefined) {
      return;
    }
    const rows = isList(data) && data.length > 0 && isList(data[0]) ? data : null;
    const width = rows ? rows[0].length : 1;
    if (!isList(data) || (rows && !Array.prototype.every.call(rows, (row) => isList(row) && row.length === width))) {
      throw new TypeError(`${name}: not a list or a typed array of numbers, or rows of different lengths`);
    }
    this.shape = rows ? [rows.length, width] : [data.length];
    this.length = data.length * width;
    this.array = new Float64Array(new ArrayBuffer(8 * Math.max(1, this.length)));
    for (let i = 0; i < this.length; i++) {
      const number = rows ? rows[Math.floor(i / width)][i % width] : data[i];
      if (typeof number !== 'number') {
        this.wipe();
        throw new TypeError(`${name}: not only numbers`);
      }
      this.array[i] = number;
    }
  }

  wipe() {
    if (this.array) {
      this.array.fill(0);
    }
  }
}

function shapePoints(points, dim) {
  if (points.shape.length > 1) {
    return points.shape;
  }
  const width = dim === undefined ? 1 : dim;
  if (!Number.isInteger(width) || width < 1 || points.shape[0] % width !== 0) {
    throw new TypeError('dim: give a whole number that divides the length of points');
  }
  return [points.shape[0] / width, width];
}

// ---- the client ----

const Outcome = Object.freeze({REPORTED: 1, RESUMED: 2, PENDING: 3, DONE: 4, LOST: 5});

const dropped = new FinalizationRegistry((handle) => library().dpot_client_close(handle));

function fill(values, {groups, ...settings}, text) {
  const all = Object.entries(settings);
  for (const [campaign, group] of Object.entries(groups || {})) {
    all.push(['group.' + binary('campaign', campaign, 16).toString('hex'), group]);
  }
  for (const [key, value] of all) {
    if (value !== null && value !== undefined) {
      check(library().dpot_settings_set(values, key, setting(key, value), text, text.length), textOf(text));
    }
  }
}

class Client {
  #handle;
  #last = Promise.resolve(); // of the queue
  #isClosed = false;

  static async open(settings) {
    const text = Buffer.alloc(ERROR_SIZE);
    const values = [null];
    const handle = [null];
    check(library().dpot_settings_new(values));
    try {
      fill(values[0], settings, text);
      check(await start('dpot_client_open_settings', values[0], handle, text, text.length), textOf(text));
    } finally {
      library().dpot_settings_free(values[0]);
    }
    const client = new Client();
    client.#handle = handle[0];
    dropped.register(client, handle[0], client);
    return client;
  }

  // Runs `work` after what was called before.
  #enqueue(work) {
    const next = this.#last.then(work);
    this.#last = next.catch(() => {});
    return next;
  }

  #call(name, ...args) {
    if (this.#isClosed) {
      return Promise.reject(new Error('the client is closed'));
    }
    return this.#enqueue(async () => {
      const status = await start(name, this.#handle, ...args);
      check(status, status === 0 ? '' : library().dpot_client_last_error(this.#handle));
    });
  }

  async #describe(name, ...args) {
    const text = Buffer.alloc(JSON_SIZE);
    try {
      await this.#call(name, ...args, text, text.length);
    } catch (error) {
      if (error instanceof DpotError && text[0] !== 0) {
        error.result = JSON.parse(textOf(text));
      }
      throw error;
    }
    return JSON.parse(textOf(text));
  }

  async enroll(campaign) {
    await this.#call('dpot_client_enroll', binary('campaign', campaign, 16));
  }

  async importCampaign(data) {
    const id = Buffer.alloc(16);
    await this.#call('dpot_client_import', Buffer.from(data), data.length, id);
    return id.toString('hex');
  }

  async expect(digests) {
    const all = Buffer.concat([...digests.map((digest) => binary('digest', digest, 32)), Buffer.alloc(1)]);
    await this.#call('dpot_client_expect', all, digests.length);
  }

  async campaign(campaign) {
    return this.#describe('dpot_client_get_campaign_json', binary('campaign', campaign, 16));
  }

  async submitPoints(campaign, points, {weights = null, dim} = {}) {
    const id = binary('campaign', campaign, 16);
    const outcome = new Int32Array(new ArrayBuffer(4));
    const places = new Numbers('points', points);
    let weighed = null;
    try {
      const [n, width] = shapePoints(places, dim);
      weighed = new Numbers('weights', weights);
      if (weighed.array && (weighed.shape.length > 1 || weighed.shape[0] !== n)) {
        throw new TypeError('weights: give one for each point');
      }
      await this.#call('dpot_client_submit_points', id, places.array, weighed.array, n, width, outcome);
    } finally {
      places.wipe();
      weighed?.wipe();
    }
    return outcome[0];
  }

  submitHistogram(campaign, histogram) {
    return this.#submit('dpot_client_submit_histogram', campaign, 'histogram', histogram);
  }

  submitVector(campaign, vector) {
    return this.#submit('dpot_client_submit_vector', campaign, 'vector', vector);
  }

  async #submit(name, campaign, what, data) {
    const id = binary('campaign', campaign, 16);
    const outcome = new Int32Array(new ArrayBuffer(4));
    const numbers = new Numbers(what, data);
    try {
      await this.#call(name, id, numbers.array, numbers.array ? numbers.length : 0, outcome);
    } finally {
      numbers.wipe();
    }
    return outcome[0];
  }

  async pump(milliseconds = 10000) {
    const deadline = Math.max(0, Math.min(Math.floor(milliseconds), 2 ** 32 - 1));
    return this.#describe('dpot_client_pump_json', deadline);
  }

  async status() {
    return this.#describe('dpot_client_get_status_json');
  }

  async statement() {
    for (let size = 4096; ; size *= 2) {
      const text = Buffer.alloc(size);
      await this.#call('dpot_client_get_statement', text, size);
      if (text.indexOf(0) < size - 1) {
        return textOf(text);
      }
    }
  }

  async withdraw() {
    await this.#call('dpot_client_withdraw');
  }

  async grant() {
    await this.#call('dpot_client_grant');
  }

  async close() {
    if (!this.#isClosed) {
      this.#isClosed = true;
      dropped.unregister(this);
      this.#enqueue(() => start('dpot_client_close', this.#handle));
    }
    await this.#last;
  }
}
if (Symbol.asyncDispose) { // await using client = ...
  Client.prototype[Symbol.asyncDispose] = Client.prototype.close;
}

function version() {
  return library().dpot_version();
}

async function withdraw(folder) {
  const text = Buffer.alloc(ERROR_SIZE);
  const files = [null];
  check(library().dpot_filesystem_posix_new(setting('folder', folder), files));
  try {
    check(library().dpot_folder_withdraw(files[0], text, text.length), textOf(text));
  } finally {
    library().dpot_filesystem_posix_free(files[0]);
  }
}

module.exports = {Client, DpotError, Outcome, version, withdraw};
