/**
 * Draws docs/terminal.svg from a real session: starts the server with the demo model in an empty home, runs the
 * README's curl command against it, and renders both commands with their output. Needs port 11435 and `npm ci`.
 *
 *   npm run readme:svg
 */
import { execFile, spawn } from 'node:child_process';
import { on, once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const ROOT = path.join(import.meta.dirname, '..');
const LIMIT_MS = 60_000;
const COLUMNS = 92;
const CHAR_WIDTH = 8.4;
const LINE_HEIGHT = 20;
const PADDING = 16;

interface Pane {
  readonly command: string;
  readonly output: string;
}

/** The two commands of the README up to the first answer. */
export const readmeCommands = (readme: string): readonly [start: string, ask: string] => {
  const blocks = [...readme.matchAll(/```sh\n([\s\S]*?)\n```/g)].map(([, block = '']) => block);
  const [start, ask] = ['npm ci && npm start', 'curl '].map((head) =>
    blocks.find((one) => one.startsWith(head)),
  );
  if (start === undefined || ask === undefined) throw new Error('README.md does not contain both commands');
  return [start, ask];
};

/** The commands of a drawing, in order. */
export const drawnCommands = (svg: string): readonly string[] =>
  [...svg.matchAll(/<g class="command">([\s\S]*?)<\/g>/g)].map(([, lines = '']) =>
    [...lines.matchAll(/<text [^>]*>(?:\$ )?(.*)<\/text>/g)]
      .map(([, text = '']) => unescaped(text))
      .join('\n'),
  );

const ESCAPES = [
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
] as const;
const escaped = (text: string): string =>
  ESCAPES.reduce((all, [char, entity]) => all.replaceAll(char, entity), text);
const unescaped = (text: string): string =>
  ESCAPES.toReversed().reduce((all, [char, entity]) => all.replaceAll(entity, char), text);

/** Masks what differs between runs. */
const masked = (text: string, home: string): string =>
  text
    .replaceAll(home, '~')
    .replaceAll(/sk-proxy-[\w-]+/g, 'sk-proxy-…')
    .replaceAll(/chatcmpl-\w+/g, 'chatcmpl-…')
    .replaceAll(/"created":\d+/g, '"created":…');

const wrapped = (text: string): readonly string[] =>
  text.split('\n').flatMap((line) => line.match(new RegExp(`.{1,${COLUMNS}}`, 'g')) ?? ['']);

const STYLE = `
text { font: 14px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #24292f; white-space: pre; }
rect { fill: #f6f8fa; stroke: #d0d7de; }
.command text { fill: #0969da; font-weight: 600; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  rect { fill: #161b22; stroke: #30363d; }
  .command text { fill: #79c0ff; }
}
`;

/** Pure. */
export const drawTerminal = (panes: readonly Pane[]): string => {
  const width = Math.ceil(COLUMNS * CHAR_WIDTH) + 2 * PADDING;
  let top = 0;
  const drawn = panes.map(({ command, output }) => {
    const typed = `$ ${command}`.split('\n');
    const printed = wrapped(output.replace(/^\n+/, '').trimEnd());
    const height = (typed.length + printed.length) * LINE_HEIGHT + 2 * PADDING;
    const textAt = (line: string, index: number): string =>
      `<text x="${PADDING}" y="${top + PADDING + (index + 1) * LINE_HEIGHT - 5}" xml:space="preserve">${escaped(line)}</text>`;
    const lines = [
      `<rect x="0.5" y="${top + 0.5}" width="${width - 1}" height="${height - 1}" rx="6"/>`,
      `<g class="command">${typed.map(textAt).join('\n')}</g>`,
      ...printed.map((line, index) => textAt(line, typed.length + index)),
    ];
    top += height + PADDING / 2;
    return lines.join('\n');
  });
  const size = `viewBox="0 0 ${width} ${top - PADDING / 2}" width="${width}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img" aria-label="A terminal session: start the server, send a request, read the answer"><style>${STYLE}</style>\n${drawn.join('\n')}\n</svg>\n`;
};

/** The output of the server at its start, and of the request. */
const record = async (ask: string): Promise<readonly [banner: string, answer: string]> => {
  const home = await mkdtemp(path.join(tmpdir(), 'terminal-'));
  const env = { PATH: process.env['PATH'], HOME: home, npm_config_loglevel: 'silent' };
  const server = spawn('npm', ['start'], {
    cwd: ROOT,
    env,
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(server, 'close');
  let banner = '';
  try {
    const signal = AbortSignal.timeout(LIMIT_MS);
    for await (const [chunk] of on(server.stderr, 'data', { signal, close: ['end'] })) {
      banner += String(chunk);
      if (/Problems\? .*\n/.test(banner)) break;
    }
    if (!banner.includes('Problems?')) throw new Error(`the server did not start: ${banner}`);
    const { stdout } = await promisify(execFile)('sh', ['-c', ask], { env, timeout: LIMIT_MS });
    return [masked(banner, home), masked(stdout, home)];
  } finally {
    server.stderr.resume();
    if (server.pid !== undefined && server.exitCode === null) process.kill(-server.pid, 'SIGTERM');
    await ended;
    await rm(home, { recursive: true, force: true });
  }
};

// Tests import this file.
if (import.meta.main) {
  const [start, ask] = readmeCommands(await readFile(path.join(ROOT, 'README.md'), 'utf8'));
  const [banner, answer] = await record(ask);
  const svg = drawTerminal([
    { command: start, output: banner },
    { command: ask, output: answer },
  ]);
  await writeFile(path.join(ROOT, 'docs/terminal.svg'), svg);
}
