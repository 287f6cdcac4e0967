import { LoadMore } from '../../components/load-more.tsx';
import { Empty, ErrorNote, Loading } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { Link } from '../../routing/link.tsx';
import { workspaceOf, type AgentSession } from './agent-answers.ts';
import { shortened } from './readable.ts';
import { SessionStatusBadge } from './session-status.tsx';
import { useFirstWords, useSessions } from './use-sessions.ts';

/** The sessions of the key, the newest first. */
export const SessionsList = () => {
  const { rows, hasMore, isBusy, error, loadMore } = useSessions();
  return (
    <section class="sessions" aria-labelledby="sessions-title">
      <h2 id="sessions-title">Sessions</h2>
      {rows === null ? (
        error === null ? (
          <Loading />
        ) : (
          <ErrorNote error={error} />
        )
      ) : (
        <>
          {rows.length === 0 ? (
            <Empty>There are no sessions yet. Say above what codex should do.</Empty>
          ) : null}
          <ul class="session-rows">
            {rows.map((session) => (
              <SessionRow key={session.id} session={session} />
            ))}
          </ul>
          <LoadMore hasMore={hasMore} isBusy={isBusy} error={error} loadMore={loadMore} label="Show more" />
        </>
      )}
    </section>
  );
};

const SessionRow = ({ session }: { readonly session: AgentSession }) => {
  const words = useFirstWords(session);
  const isMcp = session.metadata?.['source'] === 'mcp';
  return (
    <li class="session-row">
      <Link to={`/agents/${encodeURIComponent(session.id)}`} class="session-words">
        {words === null ? 'Session without a message' : shortened(words, 160)}
      </Link>
      <SessionStatusBadge session={session} />
      <p class="hint session-row-facts">
        <span>{workspaceOf(session) ?? 'No workspace'}</span>
        <span>{session.agent.model}</span>
        {isMcp ? <span>MCP</span> : null}
        <Time at={session.last_active_at} />
      </p>
    </li>
  );
};
