import type { Readable } from 'node:stream';

import { untrustedState } from '../codex/home/private-folders.ts';
import { UntrustedPath } from '../codex/home/trusted-path.ts';
import { reachServer } from './connect/server.ts';
import { loadSettings } from './explain.ts';
import { commandLine, thisInvocation } from './invocation.ts';
import { McpBridge } from './mcp-bridge.ts';
import type { RunCommand } from './read-command-line.ts';

/**
 * Speaks MCP on standard input and output, and passes everything to the running server. Ends when standard input does.
 * Nothing but messages is written to standard output.
 */
export const runMcp: RunCommand = async (flags, world) => {
  const config = await loadSettings(world.environment);
  // The key in it is sent.
  const untrusted = await untrustedState(config.state.dir);
  if (untrusted !== null) throw new UntrustedPath(untrusted);
  const { url, key } = await reachServer(config, {
    url: flags.get('url') ?? null,
    startCommand: commandLine(thisInvocation(world.environment), 'serve'),
  });
  const bridge = new McpBridge({
    url: `${url}/mcp`,
    key,
    write: (message) => world.out(`${message}\n`),
    say: (text) => world.say(`${text}\n`),
  });
  try {
    for await (const line of linesOf(process.stdin, config.http.maxBodyBytes)) {
      if (line === null) bridge.refuse(`a line is longer than ${config.http.maxBodyBytes} bytes`);
      else if (line.trim() !== '') await bridge.receive(line);
    }
  } finally {
    await bridge.close();
  }
  return 0;
};

const LF = 0x0a;

/** The lines of a stream. Null: a line that is too long, which was skipped. */
export async function* linesOf(stream: Readable, maxBytes: number): AsyncGenerator<string | null> {
  let pending: Buffer[] = [];
  let size = 0;
  let isSkipping = false;
  const take = (): string | null => {
    const line = isSkipping ? null : Buffer.concat(pending).toString('utf8');
    pending = [];
    size = 0;
    isSkipping = false;
    return line;
  };
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    let from = 0;
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, from)) {
      size += end - from;
      isSkipping ||= size > maxBytes;
      if (!isSkipping) pending.push(chunk.subarray(from, end));
      yield take();
      from = end + 1;
    }
    const rest = chunk.subarray(from);
    size += rest.length;
    isSkipping ||= size > maxBytes;
    if (isSkipping) pending = [];
    else if (rest.length > 0) pending.push(rest);
  }
  if (size > 0) yield take();
}
