import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';

import { CopyButton } from '../../components/copy-button.tsx';
import { Icon, type IconName } from '../../components/icon.tsx';
import { ErrorNote } from '../../components/states.tsx';
import { compact, duration, whole } from '../../format/numbers.ts';
import { indented } from '../../format/indented.ts';
import {
  APPROVAL,
  argumentsOf,
  stringOf,
  textOf,
  type AgentItem,
  type AgentTurn,
  type Usage,
} from './agent-answers.ts';
import { CommandView } from './command-view.tsx';
import { changesOf } from './diff.ts';
import { Elapsed } from './elapsed.tsx';
import { MessageText } from './message-text.tsx';
import { PatchFiles } from './patch-view.tsx';
import { shortened, shownCommand, visible } from './readable.ts';
import { shownText, stepsOf, type Entry, type Watched, type WatchedTurn } from './watched.ts';

/** Turns with their items, in the order in which they began. */
export const Transcript = ({ watched: { turns, session } }: { readonly watched: Watched }) => {
  const recent = recentIds(turns);
  return (
    <ol class="turns" aria-label="Turns">
      {turns.map((turn) => (
        <TurnView
          key={turn.id}
          turn={turn}
          recent={recent}
          isWaiting={session.status === 'requires_action'}
        />
      ))}
    </ol>
  );
};

/** So many commands and patches are open at most, unless a person opens more. */
const RECENT = 24;

/** The ids of the newest items that take much room. */
const recentIds = (turns: readonly WatchedTurn[]): ReadonlySet<string> => {
  const large = turns
    .flatMap(({ entries }) => entries)
    .filter(({ item }) => item.type === 'command_execution' || item['name'] === 'apply_patch');
  return new Set(large.slice(-RECENT).map(({ item }) => item.id));
};

/** The outputs of calls in a turn, by the ids of the calls. */
const outputsOf = (entries: readonly Entry[]): ReadonlyMap<unknown, Entry> =>
  new Map(
    entries
      .filter(({ item }) => item.type === 'function_call_output')
      .map((entry) => [entry.item['call_id'], entry]),
  );

interface TurnViewProps {
  readonly turn: WatchedTurn;
  readonly recent: ReadonlySet<string>;
  readonly isWaiting: boolean;
}

const TurnView = ({ turn: { id, turn, entries }, recent, isWaiting }: TurnViewProps) => {
  const outputs = outputsOf(entries);
  const calls = new Set(
    entries.filter(({ item }) => item.type === 'function_call').map(({ item }) => item['call_id']),
  );
  return (
    <li class="turn">
      {entries.map((entry) => {
        const { id: itemId, type, call_id: callId } = entry.item;
        // An output is shown with its call.
        if (type === 'function_call_output' && calls.has(callId)) return null;
        const answer = type === 'function_call' ? (outputs.get(callId) ?? null) : null;
        return <Kept key={itemId} entry={entry} answer={answer} isOld={!recent.has(itemId)} />;
      })}
      {turn === null ? null : (
        <TurnEnd
          id={id}
          turn={turn}
          status={isWaiting && turn.status === 'in_progress' ? 'waiting' : turn.status}
          isSilent={isSilent(entries)}
        />
      )}
    </li>
  );
};

/** Nothing on the page moves: the model thinks. */
const isSilent = (entries: readonly Entry[]): boolean => entries.every(({ isDone }) => isDone);

interface EntryProps {
  readonly entry: Entry;
  /** The output of a call. */
  readonly answer: Entry | null;
  readonly isOld: boolean;
}

/** Rendered again only if its entry is another one. */
const Kept = ({ entry, answer, isOld }: EntryProps) =>
  useMemo(
    () => (
      <div class={entry.isHistory ? 'entry' : 'entry entry-new'}>
        <EntryBody entry={entry} answer={answer} isOld={isOld} />
      </div>
    ),
    [entry, answer, isOld],
  );

const EntryBody = ({ entry, answer, isOld }: EntryProps) => {
  const { item } = entry;
  switch (item.type) {
    case 'message':
      return item['role'] === 'user' ? <UserMessage item={item} /> : <ModelMessage entry={entry} />;
    case 'reasoning':
      return <Reasoning entry={entry} />;
    case 'command_execution':
      return <CommandView entry={entry} isOld={isOld} />;
    case 'function_call':
      return item['name'] === APPROVAL ? (
        <Approval item={item} answer={answer} />
      ) : (
        <CallView item={item} answer={answer} />
      );
    case 'function_call_output':
      return <Folded title="Output of a call" text={printed(item['output'])} />;
    case 'mcp_call':
      return <ToolView item={item} isOld={isOld} />;
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

/** What an approval was asked for. */
const proposalText = (item: AgentItem): ComponentChildren => {
  const { name, arguments: input } = argumentsOf(item['arguments']);
  const { cmd } = argumentsOf(input);
  if (typeof cmd === 'string') return <code>{shortened(shownCommand(cmd), 160)}</code>;
  return name === 'apply_patch' ? 'a change of files' : <code>{String(name)}</code>;
};

/** What was asked before a command or a patch, and the answer. */
const Approval = ({ item, answer }: { readonly item: AgentItem; readonly answer: Entry | null }) => {
  const what = proposalText(item);
  if (item.status === 'in_progress' && answer === null) return <Line icon="ask">Asks for {what}</Line>;
  if (isApproved(item, answer))
    return (
      <Line icon="check" tone="good">
        Approved: {what}
      </Line>
    );
  const reason = stringOf(answer?.item['error']);
  return (
    <Line icon="close" tone="bad">
      Declined: {what}
      {reason === '' ? null : <span class="line-reason">“{reason}”</span>}
    </Line>
  );
};

const APPROVE = /^(?:approve|\{\s*"approve":\s*true\s*\})$/;

/** The answer comes before the end of the call. */
const isApproved = ({ status }: AgentItem, answer: Entry | null): boolean =>
  answer === null
    ? status === 'completed'
    : answer.item.status !== 'failed' && APPROVE.test(stringOf(answer.item['output']).trim());

const CallView = ({ item, answer }: { readonly item: AgentItem; readonly answer: Entry | null }) => {
  const result = answer === null ? '' : printed(answer.item['error'] ?? answer.item['output']);
  const text = result === '' ? printed(item['arguments']) : `${printed(item['arguments'])}\n\n→ ${result}`;
  return <Folded title={`Call of ${String(item['name'])}`} text={text} />;
};

interface ToolViewProps {
  readonly item: AgentItem;
  readonly isOld: boolean;
}

const ToolView = ({ item, isOld }: ToolViewProps) => {
  const input = argumentsOf(item['arguments']);
  const { error } = item;
  if (item['name'] === 'apply_patch') return <Patch item={item} isOld={isOld} />;
  if (item['name'] === 'update_plan') {
    const steps = stepsOf(input['plan']);
    const now = steps.find(({ status }) => status === 'in_progress')?.step;
    return <Line icon="plan">{now === undefined ? 'Updated the plan' : `Plan: ${now}`}</Line>;
  }
  if (item['name'] === 'view_image')
    return <Line icon="eye">Looked at {stringOf(input['path'], 'an image')}</Line>;
  if (item['name'] === 'write_stdin')
    return <Line icon="terminal">{`Typed ${visible(JSON.stringify(input['chars'] ?? ''))}`}</Line>;
  const title = `${String(item['server_label'])}: ${String(item['name'])}`;
  const parts = [printed(input), printed(item['output'] ?? error ?? '')].filter((text) => text !== '');
  return <Folded title={title} text={parts.join('\n\n')} />;
};

const Patch = ({ item, isOld }: ToolViewProps) => {
  const changes = useMemo(() => changesOf(argumentsOf(item['arguments'])), [item]);
  const { error } = item;
  const reason =
    typeof error === 'string' ? error : (error as { readonly message?: string } | null | undefined)?.message;
  return (
    <div class="files">
      <PatchFiles changes={changes} isOld={isOld} />
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
  if (type === 'open_page') return `Opened ${stringOf(url, 'a page')}`;
  if (type === 'find_in_page' || type === 'find')
    return `Looked for “${stringOf(pattern)}” in ${stringOf(url)}`;
  const verb = status === 'in_progress' ? 'Searching the web' : 'Searched the web';
  return typeof asked === 'string' && asked !== '' ? `${verb}: ${asked}` : verb;
};

const usageText = ({ input_tokens: input, output_tokens: output, ...more }: Usage): string =>
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

/** The API counts whole seconds. */
const tookText = (seconds: number): string => (seconds < 1 ? 'about a second' : duration(seconds * 1000));

interface TurnEndProps {
  readonly id: string;
  readonly turn: AgentTurn;
  readonly status: AgentTurn['status'];
  readonly isSilent: boolean;
}

/** The state of a turn, below its items. */
const TurnEnd = ({ id, turn, status, isSilent: isThinking }: TurnEndProps) => {
  const { error, usage, started_at: startedAt, completed_at: completedAt } = turn;
  const isOver = completedAt !== null || ['cancelled', 'completed', 'failed'].includes(status);
  const took = startedAt === null || completedAt === null ? null : tookText(completedAt - startedAt);
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
