import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { drawnCommands, drawTerminal, readmeCommands } from '../../scripts/terminal-svg.ts';

const ROOT = path.join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');

describe('the terminal session in the README', () => {
  it('shows the commands of the README', () => {
    expect(drawnCommands(read('docs/terminal.svg'))).toEqual(readmeCommands(read('README.md')));
  });

  it('contains no key, no path of the machine that drew it, and no external resource', () => {
    const svg = read('docs/terminal.svg');
    expect(svg).toContain('I am the demo model');
    expect(svg).not.toMatch(/sk-proxy-\w|\/tmp\/|url\(|href|@import/);
  });

  it('escapes what it draws and wraps long lines', () => {
    const svg = drawTerminal([{ command: 'a && b <c', output: `${'x'.repeat(100)}\n<y>` }]);
    expect(drawnCommands(svg)).toEqual(['a && b <c']);
    expect(svg.match(/<text /g)).toHaveLength(4);
    expect(svg).toContain('&lt;y&gt;');
  });
});
