import type { Setting } from '../../src/canonical/request/path.ts';
import { PLAIN_REQUEST, type TurnRequest } from '../../src/canonical/request/turn-request.ts';
import { settingTargets } from './setting-targets.ts';
import { SETTING_RULES } from '../../src/codex/capabilities/settings.ts';
import { toThreadStart } from '../../src/codex/translate/thread-start.ts';
import { toTurnStart } from '../../src/codex/translate/turn-start.ts';
import { CHAT_PARAMETERS } from '../../src/openai/chat/parameters.ts';
import type { ParameterRow } from '../../src/apis/parameters.ts';
import { RESPONSES_PARAMETERS } from '../../src/openai/responses/input/parameters.ts';

const code = (text: string): string => `\`${text}\``;

/** What happens if JSON-RPC has no parameter for it. */
const otherwise = (setting: Setting): string => {
  const rule = SETTING_RULES[setting];
  return 'always' in rule ? rule.always : rule.otherwise;
};

/** The fields of an API that ask for a setting. */
const fieldsOf = (table: Readonly<Record<string, ParameterRow>>, setting: Setting): readonly string[] =>
  Object.entries(table).flatMap(([name, row]) => ('asks' in row && row.asks.includes(setting) ? [name] : []));

/** Settings with a target of their own have a row each; the others share one by what happens to them. */
const settingTable = (): readonly string[] => {
  const rows = (Object.keys(SETTING_RULES) as readonly Setting[]).map((setting) => {
    const { rpc, wire } = settingTargets(setting);
    const fields = new Set(
      [RESPONSES_PARAMETERS, CHAT_PARAMETERS].flatMap((table) => fieldsOf(table, setting)),
    );
    const names = fields.size === 0 ? setting : [...fields].map(code).join(', ');
    const field = wire === null ? 'none' : code(wire);
    return rpc.length === 0
      ? { names, target: otherwise(setting), field: names === field ? 'the same' : field }
      : { names, target: rpc.map(code).join(', '), field };
  });
  const merged = Map.groupBy(rows, (row) =>
    row.field === 'the same' ? row.target : JSON.stringify([row.names, row.field]),
  );
  return [
    '| fields of Responses and Chat | JSON-RPC parameter | field of the model request |',
    '|---|---|---|',
    ...[...merged.values()].map((same) => {
      const [{ target, field } = { target: '', field: '' }] = same;
      return `| ${same.map(({ names }) => names).join(', ')} | ${target} | ${field} |`;
    }),
    '',
  ];
};

const PLAIN: TurnRequest = { ...PLAIN_REQUEST, model: 'MODEL', items: [] };

const callParameters = (): readonly string[] => {
  const settings = {
    instructionsTarget: 'base',
    sandboxMode: 'read-only',
    approvalPolicy: 'never',
    workdir: 'PROXY_CODEX_WORKDIR',
    hasRelay: false,
    knows: () => true,
  } as const;
  const calls = {
    'thread/start': toThreadStart(PLAIN, settings, { slug: PLAIN.model }),
    'thread/inject_items': { threadId: 'THREAD', items: ['the conversation'] },
    'turn/start': toTurnStart(PLAIN, 'THREAD'),
  };
  return Object.entries(calls).map(([method, params]) => `- \`${method}\`: \`${JSON.stringify(params)}\``);
};

/** What a request becomes over JSON-RPC. */
export const describeTranslation = (): string =>
  [...callParameters(), '', ...settingTable()].join('\n').trimEnd();
