import { BACKGROUND_AREA } from './state-matrix/background.ts';
import { CHAINS } from './state-matrix/chains.ts';
import { CHATS_AREA } from './state-matrix/chats.ts';
import { CONVERSATIONS } from './state-matrix/conversations.ts';
import { RESPONSES } from './state-matrix/responses.ts';
import type { StateArea, StateRow } from './state-matrix/row.ts';
import { STORE } from './state-matrix/store.ts';
import { STREAMS_AREA } from './state-matrix/streams.ts';
import { WEBSOCKET } from './state-matrix/websocket.ts';

export const STATE_AREAS: readonly StateArea[] = [
  RESPONSES,
  CHAINS,
  CONVERSATIONS,
  BACKGROUND_AREA,
  STREAMS_AREA,
  WEBSOCKET,
  CHATS_AREA,
  STORE,
];

const hereOf = ({ ours, how }: StateRow): string => `**${ours}**${how === undefined ? '' : `: ${how}`}`;

/** One test in a line, because a file may prove several things. */
const testsOf = ({ tests }: StateRow): string =>
  Object.entries(tests)
    .map(([file, titles]) => `\`${file}\`: ${titles.map((title) => `“${title}”`).join(', ')}`)
    .join('; ');

/** The comparison with OpenAI's API, from the tests that prove it. */
export const describeStateMatrix = (): string =>
  STATE_AREAS.flatMap(({ title, rows }) => [
    `### ${title}`,
    '',
    '| OpenAI | here | proved by |',
    '|---|---|---|',
    ...rows.map((row) => `| ${row.openai} | ${hereOf(row)} | ${testsOf(row)} |`),
    '',
  ])
    .join('\n')
    .trimEnd();
