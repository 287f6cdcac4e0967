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

const isPlain = ({ ours, how }: StateRow): boolean => ours === 'same' && how === undefined;

/** The comparison with OpenAI's API. The tests that prove a statement are in its row, for contributors. */
export const describeStateMatrix = (): string =>
  STATE_AREAS.flatMap(({ title, rows }) => [
    `### ${title}`,
    '',
    ...rows.filter(isPlain).map(({ openai }) => `- ${openai}`),
    '',
    '| OpenAI | here |',
    '|---|---|',
    ...rows.filter((row) => !isPlain(row)).map((row) => `| ${row.openai} | ${hereOf(row)} |`),
    '',
  ])
    .join('\n')
    .replaceAll('\n\n\n', '\n\n')
    .replaceAll('| OpenAI | here |\n|---|---|\n\n', '')
    .trimEnd();
