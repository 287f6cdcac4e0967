import {
  type ConnectClient,
  type ClientFile,
  type ServerFacts,
  shellLines,
} from '../../src/connect/client.ts';
import { CLIENTS, type ConnectClientName } from '../../src/connect/clients.ts';
import { snippetOf } from '../../src/connect/formats.ts';

const KEY_FILE = '~/.codex-app-server-proxy/api-key';

/** The server of the pages, as it runs by default. */
const SERVER: ServerFacts = {
  url: 'http://127.0.0.1:11435',
  key: 'THE KEY OF THIS SERVER',
  keyFile: KEY_FILE,
  model: {
    id: 'gpt-6.1-sol',
    isChosen: false,
    title: 'GPT-6.1-Sol',
    contextWindow: 272_000,
    maxOutputTokens: 128_000,
  },
};

const placeOf = ({ place }: ClientFile): string =>
  `\`~/${[place.folder, place.name].filter((part) => part !== '').join('/')}\``;

const block = (language: string, text: string): readonly string[] => [
  `\`\`\`${language}`,
  text.trimEnd(),
  '```',
];

/** The formatter of this project prints short lists on one line. */
const compact = (text: string): string =>
  text.replaceAll(
    /\[\n\s+([^[\]{}]+?)\n\s*\]/g,
    (_list, items: string) => `[${items.replaceAll(/\n\s+/g, ' ')}]`,
  );

/** What a client needs, and the command that sets it up. */
export const describeClient = (name: ConnectClientName): string => {
  const client: ConnectClient = CLIENTS[name];
  const files = client.files(SERVER);
  const run = client.run(SERVER);
  const command = `\`npm run connect -- ${name}\``;
  if (files.length === 0) {
    const lines = shellLines(run?.variables ?? {}, 'posix').replaceAll(
      `'${SERVER.key}'`,
      `"$(cat ${KEY_FILE})"`,
    );
    return [
      `${command} prints these lines for your shell; with \`--run -- …\` it starts the program with these variables.`,
      '',
      ...block('sh', `${lines}${client.tryIt}`),
    ].join('\n');
  }
  const once = run === null ? '' : ` \`--run -- …\` starts ${client.title} for one run and writes nothing.`;
  return [
    `${command} [writes the settings](README.md#set-up-by-command).${once}`,
    ...files.flatMap((file, index) => [
      '',
      `${index === 0 ? 'By hand, in' : 'And in'} ${placeOf(file)}:`,
      '',
      ...block(file.format, file.format === 'json' ? compact(snippetOf(file)) : snippetOf(file)),
    ]),
    '',
    'Then:',
    '',
    ...block('sh', client.tryIt),
    ...describeMcp(name, client),
  ].join('\n');
};

/** How the client gets the tools of this server; empty: the command does not know. */
const describeMcp = (name: ConnectClientName, { title, mcp }: ConnectClient): readonly string[] => {
  if (mcp === undefined) return [];
  const file = mcp.file(SERVER);
  return [
    '',
    `\`npm run connect -- ${name} --mcp --workspaces NAME\` adds the [tools of this server](../agents.md#mcp) to ${title} and changes no model. \`--workspaces\` names the workspaces in which codex may work for it; \`'*'\` means all. By hand, in ${placeOf(file)}:`,
    '',
    ...block(file.format, file.format === 'json' ? compact(snippetOf(file)) : snippetOf(file)),
  ];
};

/** The clients that the command knows, for the index. */
export const describeConnect = (): string => {
  const rows = Object.entries<ConnectClient>(CLIENTS).map(([name, client]) => {
    const title = client.page === null ? client.title : `[${client.title}](${client.page})`;
    const files = client.files(SERVER).map(placeOf).join(', ');
    const once = client.run(SERVER) === null ? 'no' : 'yes';
    return [`\`connect ${name}\``, title, files === '' ? 'nothing: it prints variables' : files, once];
  });
  return table([['command', 'client', 'writes', '`--run`'], ...rows]);
};

/** With columns of equal width, as the formatter wants them. */
const table = (rows: readonly (readonly string[])[]): string => {
  const widths = (rows[0] ?? []).map((_cell, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[], fill = ' '): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0, fill)).join(' | ')} |`;
  const [head = [], ...others] = rows;
  return [
    line(head),
    line(
      head.map(() => ''),
      '-',
    ),
    ...others.map((row) => line(row)),
  ].join('\n');
};
