import { expect, it } from 'vitest';

import { proposalFacts, shortened, shownCommand, size, visible } from './readable.ts';

it.each([
  ["/bin/bash -lc 'echo '\\''a'\\'' b'", "echo 'a' b"],
  ['/bin/bash -lc "echo \\"a\\" \\$B"', 'echo "a" $B'],
  ['/bin/bash -lc ls', 'ls'],
  ['bash -c ls', 'ls'],
  // Seen: codex 0.169.0.
  [
    String.raw`/bin/bash -lc 'for i in 1 2; do printf "'"\\033[32mline "'$i'"\\n\"; done; echo end"`,
    String.raw`for i in 1 2; do printf "\033[32mline $i\n"; done; echo end`,
  ],
  ["/bin/bash -lc 'open", "'open"],
  ['bash -c two words', 'two words'],
  ['git status', 'git status'],
  ["zsh -lc 'a\nb'", 'a\nb'],
])('%s is shown as the model wrote it', (command, shown) => {
  expect(shownCommand(command)).toBe(shown);
});

it('characters that hide others are spelt out', () => {
  expect(visible('a\u202Eb\u0000\u001B[2K\tc\n👩\u200D💻')).toBe(
    'a⟨U+202E⟩b⟨U+0000⟩⟨U+001B⟩[2K\tc\n👩\u200D💻',
  );
});

it('characters that other scripts or tags hide are spelt out', () => {
  expect(visible('a\u061Cb\u00ADc\u{E0041}d\u2028')).toBe('a⟨U+061C⟩b⟨U+00AD⟩c⟨U+E0041⟩d⟨U+2028⟩');
});

it('an approval names the folder and the shell of a command', () => {
  expect(proposalFacts({ cmd: 'ls', shell: '/srv/demo/\u202Esh' }, '/srv/demo')).toEqual([
    { word: 'In', value: '/srv/demo' },
    { word: 'With the shell', value: '/srv/demo/⟨U+202E⟩sh' },
  ]);
  expect(proposalFacts({ cmd: 'ls', workdir: '/srv/demo/src' }, '/srv/demo')).toEqual([
    { word: 'In', value: '/srv/demo/src' },
  ]);
  expect(proposalFacts({ patch: '*** Begin Patch' }, null)).toEqual([]);
});

it('sizes and long texts are short', () => {
  expect([size(7), size(2048), size(5_000_000)]).toEqual(['7 B', '2 KB', '4.8 MB']);
  expect([shortened('one two three', 8), shortened('one', 8), shortened('x'.repeat(20), 8)]).toEqual([
    'one two…',
    'one',
    'xxxxxxxx…',
  ]);
});
