#!/usr/bin/env node
// The command. It must be readable for any Node that knows modules: an old one gets a sentence, not a
// stack. So it has no syntax newer than 2018, and the rest is imported only after the check.
import { existsSync, readFileSync } from 'node:fs';

import { boundMemory } from './bounded-memory.js';

const read = (name) => readFileSync(new URL('../' + name, import.meta.url), 'utf8');

const [major, minor] = process.versions.node.split('.').map(Number);
const floor = JSON.parse(read('package.json')).engines.node.replace('>=', '');
const [floorMajor, floorMinor] = floor.split('.').map(Number);

// A clone runs its sources, whatever an earlier build left in `dist`; a package has nothing else.
const source = new URL('../src/main.ts', import.meta.url);
const isClone = existsSync(source);

if (major < floorMajor || (major === floorMajor && minor < floorMinor)) {
  // It is put there by a script of a dependency, which npm may be told not to run.
  const isBrought = existsSync(new URL('../node_modules/node/bin', import.meta.url));
  const own = isBrought ? 'npm start brings its own' : 'npm ci --ignore-scripts=false brings its own';
  const advice = isClone ? own : 'see https://nodejs.org';
  console.error(
    'codex-app-server-proxy needs Node ' +
      (floor + ' or newer (' + advice + '); this is Node ' + process.versions.node + '.'),
  );
  process.exitCode = 1;
} else {
  // Loading the sources takes a moment, in which a person would otherwise see nothing.
  const words = process.argv.slice(2);
  const isServer = words.length === 0 || words.join(' ') === 'serve';
  if (isServer) boundMemory(process);
  if (process.stderr.isTTY && isServer) {
    console.error('starting codex-app-server-proxy ' + JSON.parse(read('package.json')).version + ' …');
  }
  void import(isClone ? source.href : new URL('../dist/main.js', import.meta.url).href);
}
