// Runs each model of a folder in ONNX Runtime and compares with what dpot made of the same latent points.
//   node compare.js FOLDER
'use strict';
const fs = require('fs');
const path = require('path');
const ort = require('onnxruntime-node');

const TOLERANCE = 1e-5;   // of the largest coordinate, or 1

function floats(file) {
  const bytes = fs.readFileSync(file);
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}

async function compare(folder, name, n, latentDim, dim) {
  const session = await ort.InferenceSession.create(path.join(folder, name + '.onnx'));
  if (session.inputNames.join() !== 'z' || session.outputNames.join() !== 'x') {
    throw new Error(`${name}: its ends are ${session.inputNames} and ${session.outputNames}`);
  }
  const z = floats(path.join(folder, name + '.z'));
  const expected = floats(path.join(folder, name + '.x'));
  let worst = 0, scale = 1, spread = 0;
  // All points at once, and the first alone: the number of points is free.
  for (const count of [n, 1]) {
    const input = new ort.Tensor('float32', z.slice(0, count * latentDim), [count, latentDim]);
    const x = (await session.run({ z: input })).x;
    if (x.dims.join() !== [count, dim].join()) {
      throw new Error(`${name}: the shape is ${x.dims}`);
    }
    for (let i = 0; i < count * dim; i++) {
      scale = Math.max(scale, Math.abs(expected[i]));
      spread = Math.max(spread, Math.abs(expected[i] - expected[i % dim]));
      worst = Math.max(worst, Math.abs(x.data[i] - expected[i]));
    }
  }
  console.log(`${name}: ${n} points of ${dim} coordinates, largest difference ${worst.toExponential(2)}`);
  if (!(worst <= TOLERANCE * scale)) {
    throw new Error(`${name}: differs by ${worst}`);
  }
  if (!(spread > 0.1)) {
    throw new Error(`${name}: all points are the same`);
  }
}

async function main() {
  const folder = process.argv[2];
  const lines = fs.readFileSync(path.join(folder, 'list.txt'), 'utf8').trim().split('\n');
  for (const line of lines) {
    const [name, ...numbers] = line.split(' ');
    await compare(folder, name, ...numbers.map(Number));
  }
  console.log(`${lines.length} models agree`);
}

main().catch((error) => {
  console.error(String(error));
  process.exit(1);
});
