import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { openCommandRoom, type CommandRoom } from '../support/command.ts';

/** Runs every example as a reader would: against the command without an account, so the demo model answers. */

const EXAMPLES = path.join(import.meta.dirname, '../../examples');
const KEY = 'sk-key-of-the-examples';
const HELLO = 'Hello! I am the demo model';
const TOLD = 'get_weather said: “Sunny, 21 °C”';

interface Example {
  readonly file: string;
  readonly program: string;
  /** Node packages that it imports. */
  readonly packages: readonly string[];
  /** Fails if the program or one of its dependencies is not installed. */
  readonly probe: readonly string[];
  /** CI has everything that it needs, so it must not be skipped there. */
  readonly isExpectedInCi: boolean;
  readonly prints: readonly string[];
}

const byNode = { program: process.execPath, probe: ['--version'] } as const;

const LIST: readonly Example[] = [
  {
    file: 'curl.sh',
    program: 'sh',
    packages: [],
    probe: ['-c', 'curl --version'],
    isExpectedInCi: true,
    prints: ['"object":"response"', HELLO, '"finish_reason":"stop"', 'data: [DONE]'],
  },
  {
    ...byNode,
    file: 'node.mjs',
    packages: ['openai'],
    isExpectedInCi: true,
    prints: [HELLO, 'The model calls get_weather with {"city":"Paris"}', TOLD],
  },
  {
    ...byNode,
    file: 'images.mjs',
    packages: ['openai'],
    isExpectedInCi: true,
    prints: ['Drew ', 'image_edit.partial_image', 'image_edit.completed'],
  },
  {
    file: 'python.py',
    program: 'python3',
    packages: [],
    probe: ['-c', 'import openai'],
    isExpectedInCi: false,
    prints: [HELLO, "['age', 'name']"],
  },
  {
    ...byNode,
    file: 'ai-sdk.mjs',
    packages: ['ai', '@ai-sdk/openai', 'zod'],
    isExpectedInCi: false,
    prints: [HELLO, 'The model calls get_weather', TOLD],
  },
  {
    ...byNode,
    file: 'langchain.mjs',
    packages: ['@langchain/openai', '@langchain/core', 'zod'],
    isExpectedInCi: false,
    prints: [HELLO, "{ name: 'person', age: 1 }"],
  },
];

const run = promisify(execFile);
const { resolve } = createRequire(path.join(EXAMPLES, 'node.mjs'));

const isInstalled = (name: string): boolean => {
  try {
    resolve(name);
    return true;
  } catch {
    return false;
  }
};

/** What is missing on this machine, or null. */
const missingFor = async ({ program, packages, probe }: Example): Promise<string | null> => {
  const absent = packages.filter((name) => !isInstalled(name));
  if (absent.length > 0) return `no package ${absent.join(', ')}`;
  try {
    await run(program, probe);
    return null;
  } catch {
    return `${program} ${probe.join(' ')} fails`;
  }
};

let room: CommandRoom;
let url: string;
beforeAll(async () => {
  room = await openCommandRoom();
  const { output } = room.start([], { PROXY_API_KEY: KEY });
  url = await vi.waitFor(
    () => {
      const [, found] = /URL +(http\S+)/.exec(output.err) ?? [];
      if (found === undefined) throw new Error(`no banner: ${output.err}`);
      return found;
    },
    { timeout: 50_000 },
  );
});
afterAll(() => room.close());

describe('examples', () => {
  it.for(LIST)('$file', { timeout: 120_000 }, async (example, { skip }) => {
    const missing = await missingFor(example);
    if (missing !== null && !(example.isExpectedInCi && process.env['CI'] === 'true')) {
      skip(`examples/${example.file}: ${missing}`);
    }
    const { stdout, stderr } = await run(example.program, [path.join(EXAMPLES, example.file)], {
      env: { ...process.env, OPENAI_BASE_URL: url, OPENAI_API_KEY: KEY, NO_PROXY: '127.0.0.1' },
      timeout: 110_000,
    });
    const notPrinted = example.prints.filter((text) => !stdout.includes(text));
    expect({ stderr, notPrinted }).toEqual({ stderr: '', notPrinted: [] });
  });
});
