import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';

import { api } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { Icon } from '../../components/icon.tsx';
import { LoadMore } from '../../components/load-more.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { Empty, ErrorNote, Loading } from '../../components/states.tsx';
import { Link as PageLink } from '../../routing/link.tsx';
import { navigate } from '../../routing/location.ts';
import { firstWords, sessionPath, workspaceOf, type AgentSession } from './agent-answers.ts';
import { announcementOf } from './announce.ts';
import { useFollowPage } from './follow-end.ts';
import { shortened } from './readable.ts';
import { SessionComposer } from './session-composer.tsx';
import { SessionSide } from './session-side.tsx';
import { SessionStatusBadge } from './session-status.tsx';
import type { Link } from './session-watch.ts';
import { Transcript } from './transcript.tsx';
import { useSessionWatch } from './use-session-watch.ts';
import { WaitingCalls } from './waiting-calls.tsx';
import { openTurn, type PlanStep, type Watched } from './watched.ts';

const MAX_TITLE_CHARS = 80;

/** A session as it runs, or as it was. */
export const SessionView = ({ id }: { readonly id: string }) => {
  const { watched, link, retry, loadEarlier, hasEarlier, isLoadingEarlier, earlierError } =
    useSessionWatch(id);
  if (watched === null)
    return (
      <>
        <PageHead title="Session">
          <PageLink to="/agents">All sessions</PageLink>
        </PageHead>
        {link.kind === 'connecting' ? <Loading /> : <LinkNote link={link} onRetry={retry} />}
      </>
    );
  return (
    <Session watched={watched} link={link} onRetry={retry}>
      <LoadMore
        hasMore={hasEarlier}
        isBusy={isLoadingEarlier}
        error={earlierError}
        loadMore={loadEarlier}
        label="Show what was before"
      />
    </Session>
  );
};

/** The title stays while the page is open: another one would take the focus. */
const useTitle = (watched: Watched): string => {
  const [title] = useState(() => {
    const items = watched.turns.flatMap(({ entries }) => entries.map(({ item }) => item));
    return shortened(firstWords(items) ?? 'Session', MAX_TITLE_CHARS);
  });
  const { status } = watched.session;
  useEffect(() => {
    const mark = status === 'in_progress' ? '● ' : status === 'requires_action' ? '(!) ' : '';
    document.title = `${mark}${title} · codex-app-server-proxy`;
  }, [title, status]);
  return title;
};

/** Messages that were sent, until they are items of the session: codex reads them at its next step. */
const usePending = (watched: Watched) => {
  const [sent, setSent] = useState<readonly { readonly text: string; readonly before: number }[]>([]);
  const arrived = (text: string): number =>
    watched.turns
      .flatMap(({ entries }) => entries)
      .filter(({ item }) => item.type === 'message' && item['role'] === 'user' && firstText(item) === text)
      .length;
  return {
    pending: sent.filter(({ text, before }) => arrived(text) <= before).map(({ text }) => text),
    add: (text: string) => {
      const waiting = sent.filter((one) => one.text === text && arrived(text) <= one.before).length;
      setSent((all) => [...all, { text, before: arrived(text) + waiting }]);
    },
  };
};

const firstText = (item: { readonly [field: string]: unknown }): unknown =>
  Array.isArray(item['content'])
    ? (item['content'][0] as { readonly text?: unknown } | undefined)?.text
    : null;

interface SessionProps {
  readonly watched: Watched;
  readonly link: Link;
  readonly onRetry: () => void;
  readonly children: ComponentChildren;
}

const Session = ({ watched, link, onRetry, children }: SessionProps) => {
  const { session } = watched;
  const title = useTitle(watched);
  const turn = openTurn(watched);
  const isOpen = turn !== null || session.status === 'in_progress' || session.status === 'requires_action';
  const { pending, add } = usePending(watched);
  const [opensAtEnd] = useState(isOpen);
  const { isAtEnd, toEnd } = useFollowPage([watched, pending.length], opensAtEnd);
  const sent = (text: string): void => {
    add(text);
    toEnd();
  };
  const blocked =
    link.kind === 'gone'
      ? 'This session was deleted.'
      : session.status === 'failed'
        ? 'This session has ended.'
        : null;
  return (
    <>
      <PageHead title={title}>
        <SessionActions session={session} isOpen={isOpen && link.kind !== 'gone'} />
      </PageHead>
      <p class="session-line">
        <PageLink to="/agents">All sessions</PageLink>
        <SessionStatusBadge session={session} turn={turn} />
        <span class="hint">
          {workspaceOf(session) ?? 'No workspace'} · {session.agent.model}
        </span>
        <LinkState link={link} />
      </p>
      <div class="session">
        <SessionSide watched={watched} />
        <div class="session-main">
          {children}
          {watched.turns.length === 0 && pending.length === 0 ? (
            <Empty>Nothing has been said yet. Write what codex should do.</Empty>
          ) : null}
          <Transcript watched={watched} />
          {pending.map((text, index) => (
            // oxlint-disable-next-line react/no-array-index-key
            <section key={index} class="said said-user said-pending" aria-label="You">
              <p class="said-text">{text}</p>
              <p class="hint">codex reads this at its next step.</p>
            </section>
          ))}
          {session.error === null ? null : <ErrorNote error={new Error(session.error)} />}
          {watched.streamError === null ? null : <ErrorNote error={new Error(watched.streamError)} />}
          <WaitingCalls
            sessionId={session.id}
            actions={link.kind === 'gone' ? [] : session.required_actions}
          />
          <div class="session-end">
            {isAtEnd ? null : (
              // Not for the keyboard: reaching it scrolls to the end, where it is gone, and the focus with it.
              <button type="button" class="button to-end" tabIndex={-1} onClick={toEnd}>
                <Icon name="down" /> {toEndText(session, isOpen)}
              </button>
            )}
            <LinkNote link={link} onRetry={onRetry} />
            {isOpen ? <PlanNow steps={watched.plan} /> : null}
            <SessionComposer sessionId={session.id} isRunning={isOpen} blocked={blocked} onSent={sent} />
          </div>
        </div>
      </div>
      <p class="visually-hidden" role="status">
        {announcementOf(watched)}
      </p>
    </>
  );
};

const toEndText = ({ status }: AgentSession, isOpen: boolean): string =>
  status === 'requires_action' ? 'Waits for your answer' : isOpen ? 'Follow' : 'To the end';

/** On a narrow screen, where the plan is far below: the step that codex works on. */
const PlanNow = ({ steps }: { readonly steps: readonly PlanStep[] }) => {
  const at = steps.findIndex(({ status }) => status === 'in_progress');
  const step = steps[at];
  return step === undefined ? null : (
    <p class="plan-now">
      <span class="hint">{`${at + 1} of ${steps.length}`}</span> {step.step}
    </p>
  );
};

const SessionActions = ({
  session,
  isOpen,
}: {
  readonly session: AgentSession;
  readonly isOpen: boolean;
}) => {
  const [isAsking, setIsAsking] = useState(false);
  return (
    <div class="session-actions">
      <Button onPress={() => setIsAsking(true)}>Delete…</Button>
      {isAsking ? <DeleteSession id={session.id} isOpen={isOpen} onClose={() => setIsAsking(false)} /> : null}
    </div>
  );
};

interface DeleteSessionProps {
  readonly id: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

const DeleteSession = ({ id, isOpen, onClose }: DeleteSessionProps) => {
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const remove = async (): Promise<void> => {
    setIsBusy(true);
    setError(null);
    try {
      await api.delete(sessionPath(id));
      navigate('/agents');
    } catch (reason) {
      setError(reason);
      setIsBusy(false);
    }
  };
  return (
    <ConfirmDialog
      title="Delete this session?"
      action="Delete"
      isBusy={isBusy}
      onConfirm={() => void remove()}
      onClose={onClose}
    >
      <p>
        Its messages, commands and outputs are deleted. Files in the workspace stay. This cannot be undone.
      </p>
      {isOpen ? <p>A turn runs: cancel it first.</p> : null}
      {error === null ? null : <ErrorNote error={error} />}
    </ConfirmDialog>
  );
};

/** A word next to the status. */
const LinkState = ({ link: { kind } }: { readonly link: Link }) => (
  <span class={`link-state link-${kind}`}>
    <span class="link-dot" aria-hidden="true" />
    {kind === 'live'
      ? 'Live'
      : kind === 'connecting'
        ? 'Connecting'
        : kind === 'waiting'
          ? 'Reconnecting'
          : 'Not live'}
  </span>
);

/** Says what is wrong with the connection, and what happens next. */
const LinkNote = ({ link, onRetry }: { readonly link: Link; readonly onRetry: () => void }) => {
  if (link.kind === 'waiting')
    return (
      <div class="note link-note" role="status">
        <p>{link.reason} Connecting again…</p>
        <Button onPress={onRetry}>Connect now</Button>
      </div>
    );
  if (link.kind === 'refused') return <ErrorNote error={link.error} />;
  if (link.kind === 'gone')
    return (
      <div class="note link-note" role="status">
        <p>
          {link.wasThere
            ? 'This session was deleted. What is shown here is no longer stored.'
            : 'There is no session with this id, or it belongs to another key.'}{' '}
          <PageLink to="/agents">All sessions</PageLink>
        </p>
      </div>
    );
  return null;
};
