import { useMemo, useState } from 'preact/hooks';

import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { duration } from '../../format/numbers.ts';
import { stringOf } from './agent-answers.ts';
import { Elapsed } from './elapsed.tsx';
import { useFollowElement } from './follow-end.ts';
import { charsOf, NO_OUTPUT, spansOf, type Output, type OutputBlock } from './output.ts';
import { shortened, shownCommand, size } from './readable.ts';
import type { Entry } from './watched.ts';

/** A longer command is shown whole when it is open. */
const LONG_CHARS = 90;

interface CommandViewProps {
  readonly entry: Entry;
  /** Much has happened since: it is closed, unless a person has opened it. */
  readonly isOld: boolean;
}

/** A command with its output, as it comes. */
export const CommandView = ({ entry, isOld }: CommandViewProps) => {
  const { item, isDone, isHistory, output } = entry;
  const command = shownCommand(stringOf(item['command']));
  // What a person has seen running stays open.
  const [chosen, setChosen] = useState<boolean | null>(null);
  const isOpen = chosen ?? ((!isHistory || !isDone) && !isOld);
  const kept = output ?? NO_OUTPUT;
  const isEmpty = kept.chars === 0;
  const [firstLine = ''] = command.split('\n', 1);
  const isLong = command.length > LONG_CHARS || firstLine !== command;
  const label = shortened(command.replaceAll('\n', ' '), LONG_CHARS);
  return (
    <section class={`run-box command command-${stateOf(entry)}`} aria-label={`Command: ${label}`}>
      <header class="run-head">
        <button type="button" class="run-toggle" aria-expanded={isOpen} onClick={() => setChosen(!isOpen)}>
          <span class="run-chevron" aria-hidden="true" />
          <span class="command-prompt" aria-hidden="true">
            $
          </span>
          <code class="command-line">{firstLine}</code>
        </button>
        <CommandState entry={entry} />
      </header>
      {isOpen ? (
        <div class="run-body">
          {isLong ? (
            <pre class="command-whole" tabIndex={0} role="region" aria-label={`All of ${label}`}>
              {command}
            </pre>
          ) : null}
          {isHistory && !isDone ? (
            <p class="run-note">It was running already: the beginning of its output comes when it ends.</p>
          ) : null}
          {isEmpty ? (
            <p class="run-note">{isDone ? 'No output.' : 'No output yet.'}</p>
          ) : (
            <Terminal output={kept} label={`Output of ${label}`} />
          )}
          <CommandFacts entry={entry} command={command} output={kept} />
        </div>
      ) : null}
    </section>
  );
};

type CommandStateName = 'bad' | 'good' | 'running' | 'stopped';

const stateOf = ({ item, isDone }: Entry): CommandStateName => {
  if (!isDone) return 'running';
  if (item.status === 'completed') return 'good';
  // Without an exit code, or with a negative one, the command was ended.
  const exitCode = item['exit_code'];
  return item.status === 'failed' && typeof exitCode === 'number' && exitCode >= 0 ? 'bad' : 'stopped';
};

const CommandState = ({ entry }: { readonly entry: Entry }) => {
  const { item } = entry;
  const { duration_ms: ms, exit_code: exitCode } = item;
  const took = typeof ms === 'number' ? duration(ms) : null;
  const state = stateOf(entry);
  if (state === 'running')
    return (
      <span class="run-state">
        <span class="pulse" aria-hidden="true" /> {entry.isHistory ? 'Running' : <Elapsed />}
      </span>
    );
  return (
    <span class={`run-state run-state-${state}`}>
      {state === 'good' ? 'Done' : state === 'bad' ? `Exit ${String(exitCode)}` : 'Ended'}
      {took === null ? null : <span class="run-took">{took}</span>}
    </span>
  );
};

interface CommandFactsProps {
  readonly entry: Entry;
  readonly command: string;
  readonly output: Output;
}

const CommandFacts = ({ entry: { item, isDone }, command, output }: CommandFactsProps) => {
  const { cwd } = item;
  const isWhole = isDone && output.chars > 0;
  const text = useMemo(() => (isWhole ? textOfOutput(output) : command), [isWhole, output, command]);
  return (
    <footer class="run-foot">
      <span class="run-where">
        {typeof cwd === 'string' ? cwd : ''}
        {output.chars === 0 ? null : ` · ${size(output.chars)}`}
      </span>
      <CopyButton text={text} label={isWhole ? 'Copy the output' : 'Copy the command'} />
    </footer>
  );
};

/** What is kept of the output, without colours. */
const textOfOutput = ({ head, tail, droppedChars }: Output): string => {
  const [first, last] = [head, tail].map((blocks) =>
    blocks
      .map((block) =>
        spansOf(block)
          .map(({ text }) => text)
          .join(''),
      )
      .join(''),
  );
  return droppedChars === 0 ? `${first}${last}` : `${first}\n[… ${size(droppedChars)} …]\n${last}`;
};

/** The end of the output, or its beginning. It stays at the end unless a person scrolls up. */
const Terminal = ({ output, label }: { readonly output: Output; readonly label: string }) => {
  const [isHead, setIsHead] = useState(false);
  const { head, tail, chars, droppedChars } = output;
  const isCut = droppedChars > 0;
  const shown = isCut ? (isHead ? head : tail) : [...head, ...tail];
  return (
    <>
      {isCut ? (
        <p class="run-note run-cut">
          {isHead
            ? `The first ${size(charsOf(head))} of ${size(chars)}.`
            : `The end of ${size(chars)}. ${size(droppedChars)} in the middle are not kept.`}
          <Button kind="quiet" onPress={() => setIsHead(!isHead)}>
            {isHead ? 'Show the end' : 'Show the beginning'}
          </Button>
        </p>
      ) : null}
      <Screen key={isHead ? 'head' : 'end'} blocks={shown} label={label} follows={!isHead} />
    </>
  );
};

interface ScreenProps {
  readonly blocks: readonly OutputBlock[];
  readonly label: string;
  readonly follows: boolean;
}

const Screen = ({ blocks, label, follows }: ScreenProps) => {
  const ref = useFollowElement(follows ? blocks.at(-1) : null, follows);
  return (
    <pre ref={ref} class="terminal" tabIndex={0} role="region" aria-label={label}>
      {blocks.map((block) => (
        <Piece key={block.id} block={block} />
      ))}
    </pre>
  );
};

/** Rendered again only if it has grown. */
const Piece = ({ block }: { readonly block: OutputBlock }) => {
  const { text, style } = block;
  return useMemo(
    () => (
      <span>
        {spansOf({ text, style }).map(({ id, text: part, style: classes }) =>
          classes === '' ? (
            part
          ) : (
            <span key={id} class={classes}>
              {part}
            </span>
          ),
        )}
      </span>
    ),
    [text, style],
  );
};
