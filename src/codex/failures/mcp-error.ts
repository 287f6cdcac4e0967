import { safeMessage } from './safe-message.ts';
import { withoutKeyWords } from './key-words.ts';

const MAX_CHARS = 300;

export const silentFor = (ms: number): string => `did not answer within ${Math.ceil(ms / 1000)} s`;

/**
 * What codex reports about an MCP server that it could not start or query, as the end of a sentence about the
 * server.
 */
export const mcpErrorText = (said: string): string => {
  const words = said.replace(/^MCP startup failed: /, '');
  const late = /timed out .* after (\d+(?:\.\d+)?)(m?)s/.exec(words);
  if (late !== null) return silentFor(Number(late[1]) * (late[2] === 'm' ? 1 : 1000));
  if (/connection closed: initialize/.test(words)) return 'ended before it answered';
  if (/\(os error \d+\)$/.test(words)) return `could not be started: ${safeMessage(words, [])}`;
  // codex includes the names of its internal error types.
  const plain = withoutKeyWords(safeMessage(words, [])).replaceAll(/\s*\[\w+::[^\]]*\]/g, '');
  return `failed: ${plain.slice(0, MAX_CHARS).toWellFormed()}`;
};
