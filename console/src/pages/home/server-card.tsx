import { api, send } from '../../api/client.ts';
import { useResource } from '../../api/use-resource.ts';
import { Badge } from '../../components/badge.tsx';
import { Card } from '../../components/card.tsx';
import { Facts } from '../../components/facts.tsx';
import { Loaded } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';

/** `GET /readyz?backend`. */
interface Health {
  readonly status: 'not ready' | 'ready';
  readonly backend: { readonly state: 'failing' | 'ok' | 'unknown'; readonly since?: string };
}

/** `GET /v1/codex/account`. */
interface Account {
  readonly backend: 'chatgpt' | 'demo' | 'none' | 'openai' | 'provider';
  readonly plan: string | null;
  readonly sign_in: { readonly state: 'needed' | 'not_needed' | 'signed_in'; readonly how: string | null };
}

const BACKENDS: Readonly<Record<Account['backend'], string>> = {
  chatgpt: 'ChatGPT account',
  openai: 'OpenAI API key',
  provider: 'Provider of the settings',
  demo: 'Demo model on this machine',
  none: 'None: sign in first',
};

const EVERY_MS = 15_000;

/** Whether the server and its backend work, and which account it uses. */
export const ServerCard = () => {
  const health = useResource(
    'health',
    async (signal) =>
      // 503 says that it is not ready.
      (await send('/readyz?backend', { signal, alsoOk: 503 })).json() as Promise<Health>,
    { everyMs: EVERY_MS },
  );
  const account = useResource('account', (signal) => api.get<Account>('/v1/codex/account', signal), {
    everyMs: EVERY_MS,
  });
  return (
    <Card title="Server" aside={health.data === null ? null : <Status health={health.data} />}>
      <Loaded of={health}>
        {({ backend }) => (
          <Facts
            rows={[
              [
                'Last answer of the backend',
                backend.state === 'unknown' || backend.since === undefined ? (
                  'no request yet'
                ) : (
                  <>
                    {backend.state === 'ok' ? 'worked, since ' : 'failed, since '}
                    <Time at={Date.parse(backend.since) / 1000} />
                  </>
                ),
              ],
            ]}
          />
        )}
      </Loaded>
      <Loaded of={account}>
        {({ backend, plan, sign_in: signIn }) => (
          <Facts
            rows={[
              ['Backend', BACKENDS[backend]],
              ['Plan', plan ?? 'not known'],
              [
                'Sign-in',
                signIn.state === 'needed' ? (signIn.how ?? 'needed') : signIn.state.replace('_', ' '),
              ],
            ]}
          />
        )}
      </Loaded>
    </Card>
  );
};

const Status = ({ health }: { readonly health: Health }) => {
  if (health.backend.state === 'failing') return <Badge tone="bad">backend fails</Badge>;
  return health.status === 'ready' ? <Badge tone="good">ready</Badge> : <Badge tone="warn">not ready</Badge>;
};
