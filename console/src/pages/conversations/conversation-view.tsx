import { useState } from 'preact/hooks';

import { api } from '../../api/client.ts';
import { useResource } from '../../api/use-resource.ts';
import { Button } from '../../components/button.tsx';
import { Card } from '../../components/card.tsx';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { Facts } from '../../components/facts.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { Empty, ErrorNote, Loaded } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { Link } from '../../routing/link.tsx';
import { navigate } from '../../routing/location.ts';
import { hasScope, useSession } from '../../session.ts';
import { conversationPath, historyPath, type ConversationWithTurns } from './conversation-answers.ts';
import { LoadMore } from '../../components/load-more.tsx';
import { Transcript } from './transcript.tsx';
import { usePages } from '../../api/use-pages.ts';

/** One conversation as a transcript. */
export const ConversationView = ({ id }: { readonly id: string }) => {
  const isAdmin = hasScope(useSession(), 'admin');
  const found = useResource(id, (signal) => api.get<ConversationWithTurns>(historyPath(id, null), signal));
  const [isAsking, setIsAsking] = useState(false);
  return (
    <>
      <PageHead title="Conversation">
        <div class="conversation-actions">
          <Link to="/conversations">All conversations</Link>
          {isAdmin && found.data !== null ? (
            <Button kind="danger" onPress={() => setIsAsking(true)}>
              Delete…
            </Button>
          ) : null}
        </div>
      </PageHead>
      <Loaded of={found}>{(conversation) => <Read conversation={conversation} />}</Loaded>
      {isAsking ? <DeleteDialog id={id} onClose={() => setIsAsking(false)} /> : null}
    </>
  );
};

const Read = ({ conversation }: { readonly conversation: ConversationWithTurns }) => {
  const { id, kind, metadata, forked_from: from } = conversation;
  const pages = usePages(
    conversation.history,
    async (after) => (await api.get<ConversationWithTurns>(historyPath(id, after))).history,
  );
  return (
    <div class="conversation">
      <Card title={id}>
        <Facts
          rows={[
            ['Kind', kind === 'conversation' ? 'Conversation' : 'Chain of responses'],
            ['Key', <code key="key">{conversation.key_id}</code>],
            ['Turns', String(conversation.turns)],
            ...(from === null
              ? []
              : [
                  [
                    'Continues',
                    <>
                      turn {from.turns} of{' '}
                      <Link to={`/conversations/${encodeURIComponent(from.id)}`}>{from.id}</Link>
                    </>,
                  ] as const,
                ]),
            ['Created', <Time key="created" at={conversation.created_at} />],
            ['Last turn', <Time key="updated" at={conversation.updated_at} />],
            ['Expires', <Time key="expires" at={conversation.expires_at} />],
            ...Object.entries(metadata ?? {}).map(([name, value]) => [`Metadata: ${name}`, value] as const),
          ]}
        />
      </Card>
      {pages.rows.length === 0 ? <Empty>This conversation has no turns yet.</Empty> : null}
      <Transcript turns={pages.rows} />
      <LoadMore {...pages} label="Show more turns" />
    </div>
  );
};

const DeleteDialog = ({ id, onClose }: { readonly id: string; readonly onClose: () => void }) => {
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const remove = async (): Promise<void> => {
    setIsBusy(true);
    setError(null);
    try {
      await api.delete(conversationPath(id));
      navigate('/conversations');
    } catch (reason) {
      setError(reason);
      setIsBusy(false);
    }
  };
  return (
    <ConfirmDialog
      title="Delete this conversation?"
      action="Delete"
      isBusy={isBusy}
      onConfirm={() => void remove()}
      onClose={onClose}
    >
      <p>
        Its responses are deleted, too: clients cannot continue them. Turns that other conversations continue
        stay. This cannot be undone.
      </p>
      {error === null ? null : <ErrorNote error={error} />}
    </ConfirmDialog>
  );
};
