import { expect, it } from 'vitest';

import { CodexWatch } from './codex-watch.ts';

const open = () => {
  const lines: unknown[] = [];
  const infos: unknown[] = [];
  const watch = new CodexWatch('1.2.3', {
    warn: (...line: readonly unknown[]) => void lines.push(line),
    info: (...line: readonly unknown[]) => void infos.push(line),
  } as never);
  return { watch, lines, infos };
};

it('logs another version than the tested one, once for all app-servers', () => {
  const { watch, lines } = open();
  for (const version of ['1.2.3', '1.2.3', '1.3.0', '1.3.0', null]) watch.started(version);
  expect(lines).toEqual([
    [{ tested: '1.2.3', runs: '1.3.0' }, 'tested with codex 1.2.3, runs 1.3.0'],
    [{ tested: '1.2.3', runs: null }, 'tested with codex 1.2.3, runs an unknown version'],
  ]);
});

it('logs each warning once, and keeps it', () => {
  const { watch, lines } = open();
  for (const text of ['one', 'two', 'one']) watch.warned(text);
  expect(lines).toEqual(['one', 'two'].map((warning) => [{ warning }, 'codex has a warning']));
  expect(watch.report()).toEqual({ tested: '1.2.3', runs: null, warnings: ['one', 'two'] });
});

it('says of the one about bubblewrap, which a newcomer reads first, that it is harmless', () => {
  const { watch, lines, infos } = open();
  const warning = 'Codex could not find bubblewrap on PATH. Install it.';
  watch.warned(warning);
  expect(lines).toEqual([]);
  expect(infos).toEqual([
    [{ warning, note: 'harmless: codex uses the one that it brings along' }, 'codex has a warning'],
  ]);
});

it('limits the number of warnings and their length', () => {
  const { watch, lines } = open();
  for (let index = 0; index < 200; index += 1) watch.warned(`${index} ${'x'.repeat(5_000)}`);
  const { warnings } = watch.report();
  expect([warnings.length, Math.max(...warnings.map((text) => text.length))]).toEqual([50, 1_002]);
  expect(lines.slice(50)).toEqual([[{ logged: 50 }, 'codex has more warnings, which are not logged']]);
});
