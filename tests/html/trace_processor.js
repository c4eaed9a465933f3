// SPDX-License-Identifier: Apache-2.0
// Perfetto's own trace processor, which its page runs, without the page: reads a trace and answers queries.
//
// usage: node trace_processor.js FOLDER TRACE QUERY...
//
// FOLDER has Perfetto's engine_bundle.js and its .wasm files. Prints a JSON list: for each query its rows, or a string
// with what is wrong.
'use strict';
const fs = require('fs');
const path = require('path');
const vm = require('vm');

const [folder, trace, ...queries] = process.argv.slice(2);

// A field of a Protocol Buffers message: a number, or bytes.
function varint(value) {
  const out = [];
  for (let v = BigInt(value); ; v >>= 7n) {
    if (v < 128n) return [...out, Number(v)];
    out.push(Number(v & 127n) | 128);
  }
}
const number = (field, value) => Buffer.from([...varint(field << 3), ...varint(value)]);
const bytes = (field, value) => Buffer.concat([Buffer.from([...varint(field * 8 + 2), ...varint(value.length)]), value]);

function fieldsOf(buffer) {
  const fields = [];
  let at = 0;
  const next = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = buffer[at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  while (at < buffer.length) {
    const key = Number(next());
    if ((key & 7) === 0) fields.push([key >> 3, next()]);
    else if ((key & 7) === 1) fields.push([key >> 3, buffer.subarray(at, (at += 8))]);
    else if ((key & 7) === 2) {
      const size = Number(next());
      fields.push([key >> 3, buffer.subarray(at, (at += size))]);
    } else throw new Error('a field of type ' + (key & 7));
  }
  return fields;
}
const all = (message, field) => message.filter(([number_]) => number_ === field).map(([, value]) => value);

function numbersOf(packed) {
  const numbers = [];
  let value = 0n, shift = 0n;
  for (const byte of packed) {
    value |= BigInt(byte & 127) << shift;
    shift += 7n;
    if (byte >= 128) continue;
    numbers.push(Number(BigInt.asIntN(64, value)));
    value = shift = 0n;
  }
  return numbers;
}

// trace_processor.proto: QueryResult, in one or several replies.
function rowsOf(results) {
  const cells = [], names = [];
  for (const result of results) {
    for (const name of all(result, 1)) names.push(name.toString());
    const wrong = all(result, 2).join('');
    if (wrong) return wrong;
    for (const batch of all(result, 3).map(fieldsOf)) {
      const numbers = all(batch, 2).flatMap(numbersOf);
      const floats = all(batch, 3).flatMap((b) => Array.from({ length: b.length / 8 }, (_, i) => b.readDoubleLE(8 * i)));
      const texts = all(batch, 5).flatMap((b) => b.toString().split('\0').slice(0, -1));
      for (const kind of all(batch, 1).flatMap(numbersOf))
        cells.push(kind === 2 ? numbers.shift() : kind === 3 ? floats.shift() : kind === 4 ? texts.shift() : null);
    }
  }
  const rows = [];
  for (let i = 0; i < cells.length; i += names.length) rows.push(cells.slice(i, i + names.length));
  return rows;
}

const read = (name) => fs.readFileSync(path.join(folder, path.basename(name)));

// As much of it as the engine asks for its .wasm file by.
class FileRequest {
  open(method, url) { this.url = url; }
  send() {
    this.response = new Uint8Array(read(this.url)).buffer;
    this.status = 200;
    if (this.onload) this.onload();
  }
}

async function main() {
  let reply = [];
  const scope = {
    WebAssembly, TypeError, TextDecoder, TextEncoder, URL, Uint8Array, performance, setTimeout, console: { log() {}, warn() {}, error() {}, info() {} },
    location: { href: 'file:///' }, importScripts() {}, WorkerGlobalScope: Object,
    XMLHttpRequest: FileRequest,
  };
  scope.self = scope.globalThis = scope;
  const text = read('engine_bundle.js').toString().replace('new e.WasmBridge', 'self.bridge=new e.WasmBridge');
  vm.runInNewContext(text, scope);
  while (!scope.bridge.reqBufferAddr) await new Promise((resolve) => setTimeout(resolve, 10));
  const port = { postMessage: (data) => reply.push(Buffer.from(data)) };
  scope.bridge.initialize(port);
  let sequence = 0;
  const ask = (method, ...fields) => {
    reply = [];
    const request = Buffer.concat([number(1, ++sequence), number(2, method), ...fields]);
    port.onmessage({ data: new Uint8Array(bytes(1, request)) });
    return all(fieldsOf(Buffer.concat(reply)), 1).map(fieldsOf);
  };
  for (const part of ask(1, bytes(101, fs.readFileSync(trace)))) {
    const wrong = all(part, 201).flatMap((result) => all(fieldsOf(result), 2)).join('');
    if (wrong) throw new Error(wrong);
  }
  ask(2);
  const answers = queries.map((sql) => rowsOf(
    ask(3, bytes(103, bytes(1, Buffer.from(sql)))).flatMap((part) => all(part, 203)).map(fieldsOf)));
  process.stdout.write(JSON.stringify(answers) + '\n', () => process.exit(0));
}

// Without the engine's text, which is one line of a hundred kilobytes.
function fail(error) {
  console.error(String((error && error.stack) || error).slice(-2000));
  process.exit(1);
}
process.on('uncaughtException', fail);
process.on('unhandledRejection', fail);
main().catch(fail);
