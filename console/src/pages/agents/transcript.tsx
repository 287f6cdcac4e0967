import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';

import { CopyButton } from '../../components/copy-button.tsx';
import { Icon, type IconName } from '../../components/icon.tsx';
import { ErrorNote } from '../../components/states.tsx';
import { compact, duration, whole } from '../../format/numbers.ts';
import { indented } from '../../format/indented.ts';
import { APPROVAL, argumentsOf, textOf, type AgentItem, type AgentTurn, type Usage } from './agent-answers.ts';
import { CommandView } from './command-view.tsx';
import { changesOf } from './diff.ts';
import { Elapsed } from './elapsed.tsx';
import { MessageText } from './message-text.tsx';
import { PatchFiles } from './patch-view.tsx';
import { shortened, shownCommand, visible } from './readable.ts';
import { shownText, stepsOf, type Entry, type WatchedTurn } from './watched.ts';

/** Turns with their items, in the order in which they began. */
export const Transcript = ({ turns }: { readonly turns: readonly WatchedTurn[] }) => (
  <ol class="turns" aria-label="Turns">
    {turns.map((turn) => (
      <TurnView key={turn.id} turn={turn} />
    ))}
  </ol>
);

const TurnView = ({ turn: { id, turn, entries } }: { readonly turn: WatchedTurn }) => (
  <li class="turn">
    {entries.map((entry) => (
      <Kept key={entry.item.id} entry={entry} />
    ))}
    {turn === null ? null : <TurnEnd id={id} turn={turn} isSilent={isSilent(entries)} />}
  </li>
);

/** Nothing on the page moves: the model thinks. */
const isSilent = (entries: readonly Entry[]): boolean => entries.every(({ isDone }) => isDone);

/** Rendered again only if its entry is another one. */
const Kept = ({ entry }: { readonly entry: Entry }) => useMemo(() => <EntryView entry={entry} />, [entry]);

const EntryView = ({ entry }: { readonly entry: Entry }) => {
  const { item, isHistory } = entry;
  return (
    <div class={isHistory ? 'entry' : 'entry entry-new'}>
      <EntryBody entry={entry} key={item.id} />
    </div>
  );
};

const EntryBody = ({ entry }: { readonly entry: Entry }) => {
  const { item } = entry;
  switch (item.type) {
    case 'message':
      return item['role'] === 'user' ? <UserMessage item={item} /> : <ModelMessage entry={entry} />;
    case 'reasoning':
      return <Reasoning entry={entry} />;
    case 'command_execution':
      return <CommandView entry={entry} />;
    case 'function_call':
      return item['name'] === APPROVAL ? <Asked item={item} /> : <CallView item={item} />;
    case 'function_call_output':
      return <CallResult item={item} />;
    case 'mcp_call':
      return <ToolView item={item} />;
    case 'web_search_call':
      return <Line icon="search">{searchText(item)}</Line>;
    default:
      return <Folded title={item.type.replaceAll('_', ' ')} text={JSON.stringify(item, null, 2)} />;
  }
};

const imagesOf = (item: AgentItem): readonly string[] =>
  Array.isArray(item['content'])
    ? (item['content'] as readonly { readonly image_url?: unknown }[]).flatMap(({ image_url: url }) =>
        typeof url === 'string' ? [url] : [],
      )
    : [];

const UserMessage = ({ item }: { readonly item: AgentItem }) => (
  <section class="said said-user" aria-label="You">
    <p class="said-text">{textOf(item)}</p>
    {imagesOf(item).map((url, index) =>
      url.startsWith('data:image/') ? (
        // oxlint-disable-next-line react/no-array-index-key
        <img key={index} src={url} alt={`Attachment ${index + 1}`} />
      ) : (
        // Nothing is loaded from elsewhere.
        // oxlint-disable-next-line react/no-array-index-key
        <p key={index} class="hint">
          Image: {url}
        </p>
      ),
    )}
  </section>
);

const ModelMessage = ({ entry }: { readonly entry: Entry }) => {
  const { item, isDone } = entry;
  const isAside = item['phase'] === 'commentary';
  const text = shownText(entry);
  return (
    <section
      class={`said ${isAside ? 'said-aside' : 'said-model'}${isDone ? '' : ' said-writing'}`}
      aria-label="codex"
      aria-busy={!isDone}
    >
      <MessageText text={text} />
      {item.status === 'incomplete' ? <p class="hint">This message is incomplete.</p> : null}
    </section>
  );
};

const Reasoning = ({ entry }: { readonly entry: Entry }) => {
  const text = shownText(entry).trim();
  if (text === '') return entry.isDone ? null : <Line icon="thought">Thinking…</Line>;
  // Summaries begin with a title in bold.
  const [, title, rest] = /^\*\*([^*\n]+)\*\*\s*([\s\S]*)$/.exec(text) ?? [undefined, 'Thoughts', text];
  if (rest === '') return <Line icon="thought">{title}</Line>;
  return (
    <details class="thought">
      <summary>
        <Icon name="thought" />
        <span>{title}</span>
      </summary>
      <MessageText text={rest ?? ''} />
    </details>
  );
};

interface LineProps {
  readonly icon: IconName;
  readonly tone?: 'bad' | 'good' | 'plain';
  readonly children: ComponentChildren;
}

/** Something that needs one line only. */
const Line = ({ icon, tone = 'plain', children }: LineProps) => (
  <p class={`line line-${tone}`}>
    <Icon name={icon} />
    <span>{children}</span>
  </p>
);

const Folded = ({ title, text }: { readonly title: string; readonly text: string }) => (
  <details class="thought">
    <summary>
      <Icon name="tool" />
      <span>{title}</span>
    </summary>
    <pre class="terminal" tabIndex={0} role="region" aria-label={title}>
      {text}
    </pre>
  </details>
);

const printed = (value: unknown): string =>
  typeof value === 'string' ? indented(value) : (JSON.stringify(value, null, 2) ?? '');

/** What was asked before a command or a patch. */
const Asked = ({ item }: { readonly item: AgentItem }) => {
  const { name, arguments: input } = argumentsOf(item['arguments']);
  const { cmd } = argumentsOf(input);
  const what =
    typeof cmd === 'string' ? (
      <code>{shortened(shownCommand(cmd), 160)}</code>
    ) : name === 'apply_patch' ? (
      'a change of files'
    ) : (
      <code>{String(name)}</code>
    );
  return <Line icon="ask">codex asked for {what}</Line>;
};

const CallView = ({ item }: { readonly item: AgentItem }) => (
  <Folded title={`Call of ${String(item['name'])}`} text={printed(item['arguments'])} />
);

/** The answer to an approval or to a function call. */
const CallResult = ({ item }: { readonly item: AgentItem }) => {
  const { error, output } = item;
  const text = typeof output === 'string' ? output.trim() : '';
  if (text === 'approve' || /^\{"approve":\s*true\}$/.test(text))
    return (
      <Line icon="check" tone="good">
        Approved
      </Line>
    );
  if (item.status === 'failed' || typeof error === 'string')
    return (
      <Line icon="close" tone="bad">
        Declined{typeof error === 'string' && error !== '' ? `: ${error}` : ''}
      </Line>
    );
  return <Folded title="Output of the call" text={printed(output)} />;
};

const ToolView = ({ item }: { readonly item: AgentItem }) => {
  const input = argumentsOf(item['arguments']);
  const { error } = item;
  if (item['name'] === 'apply_patch') return <Patch item={item} />;
  if (item['name'] === 'update_plan') {
    const steps = stepsOf(input['plan']);
    const done = steps.filter(({ status }) => status === 'completed').length;
    return <Line icon="plan">{`Plan: ${done} of ${steps.length} steps done`}</Line>;
  }
  if (item['name'] === 'view_image') return <Line icon="eye">Looked at {String(input['path'] ?? 'an image')}</Line>;
  if (item['name'] === 'write_stdin')
    return <Line icon="terminal">{`Typed ${visible(JSON.stringify(input['chars'] ?? ''))}`}</Line>;
  const title = `${String(item['server_label'])}: ${String(item['name'])}`;
  const parts = [printed(input), printed(item['output'] ?? error ?? '')].filter((text) => text !== '');
  return <Folded title={title} text={parts.join('\n\n')} />;
};

const Patch = ({ item }: { readonly item: AgentItem }) => {
  const changes = useMemo(() => changesOf(argumentsOf(item['arguments'])), [item]);
  const { error } = item;
  const reason =
    typeof error === 'string' ? error : (error as { readonly message?: string } | null | undefined)?.message;
  return (
    <div class="files">
      <PatchFiles changes={changes} />
      {item.status === 'failed' ? (
        <Line icon="close" tone="bad">
          The patch was not applied{reason === undefined ? '.' : `: ${reason}`}
        </Line>
      ) : item.status === 'in_progress' ? (
        <Line icon="tool">Applying…</Line>
      ) : null}
    </div>
  );
};

const searchText = ({ action, status }: AgentItem): string => {
  const fields = argumentsOf(action);
  const { type, query, queries, url, pattern } = fields;
  const asked = Array.isArray(queries) && queries.length > 0 ? queries.join(', ') : query;
  if (type === 'open_page') return `Opened ${String(url ?? 'a page')}`;
  if (type === 'find_in_page' || type === 'find') return `Looked for “${String(pattern)}” in ${String(url)}`;
  const verb = status === 'in_progress' ? 'Searching the web' : 'Searched the web';
  return typeof asked === 'string' && asked !== '' ? `${verb}: ${asked}` : verb;
};

export const usageText = ({ input_tokens: input, output_tokens: output, ...more }: Usage): string =>
  [
    `${whole(input)} tokens in`,
    `${compact(more.input_tokens_details?.cached_tokens ?? 0)} cached`,
    `${whole(output)} out`,
    `${compact(more.output_tokens_details?.reasoning_tokens ?? 0)} for reasoning`,
  ].join(' · ');

const WORDS: Readonly<Record<AgentTurn['status'], string>> = {
  queued: 'Waits for its place: other turns run in this workspace',
  in_progress: 'Working',
  waiting: 'Waits for an answer',
  completed: 'Completed',
  failed: 'Failed',
  cancelled: 'Cancelled',
};

interface TurnEndProps {
  readonly id: string;
  readonly turn: AgentTurn;
  readonly isSilent: boolean;
}

/** The state of a turn, below its items. */
const TurnEnd = ({ id, turn, isSilent: isThinking }: TurnEndProps) => {
  const { status, error, usage, started_at: startedAt, completed_at: completedAt } = turn;
  const isOver = completedAt !== null || ['cancelled', 'completed', 'failed'].includes(status);
  const took = startedAt !== null && completedAt !== null ? duration(Math.max(0, completedAt - startedAt) * 1000) : null;
  return (
    <footer class={`turn-end turn-${status}`}>
      {error === null ? null : <ErrorNote error={new Error(`${error.message} (${error.code})`)} />}
      <p class="turn-facts">
        {isOver ? null : <span class={isThinking ? 'pulse' : 'pulse pulse-quiet'} aria-hidden="true" />}
        <strong>{WORDS[status]}</strong>
        {isOver ? null : (
          <>
            {' '}
            <Elapsed since={startedAt ?? turn.created_at} />
          </>
        )}
        {took === null ? null : ` in ${took}`}
        {usage === null ? null : <span> · {usageText(usage)}</span>}
        {isOver ? <CopyButton text={id} label={`Copy the id of the turn, ${id}`} /> : null}
      </p>
    </footer>
  );
};
