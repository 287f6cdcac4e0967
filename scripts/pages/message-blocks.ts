import { BLOCKS } from '../../src/anthropic/messages/input/content-blocks.ts';

const TITLES: Readonly<Record<keyof typeof BLOCKS, string>> = {
  user: 'user',
  assistant: 'assistant',
  system: 'system',
  tool_result: 'in a `tool_result`',
};

/** What becomes of each block of a message. Blocks in a result are listed if they mean something else there. */
export const describeBlocks = (): string => {
  const user: Readonly<Record<string, string>> = BLOCKS.user;
  const rows = Object.entries(BLOCKS).flatMap(([place, blocks]) =>
    Object.entries(blocks).flatMap(([type, note]) =>
      place === 'tool_result' && user[type] === note
        ? []
        : [`| ${TITLES[place as keyof typeof BLOCKS]} | \`${type}\` | ${note} |`],
    ),
  );
  return ['| message | block | what becomes of it |', '|---|---|---|', ...rows].join('\n');
};
