import { CookieJar } from '../codex/relay/transport/cookies.ts';
import { openDispatcher } from '../codex/relay/transport/dispatcher.ts';
import { httpTransport } from '../codex/relay/transport/http-transport.ts';
import type { Transport } from '../codex/relay/transport/model-transport.ts';
import { proxySettings, readTrust, type Environment } from '../codex/relay/transport/outbound.ts';
import { createDial } from '../codex/relay/transport/websocket/dial.ts';
import { DialPacing } from '../codex/relay/transport/websocket/dial-pacing.ts';
import { SocketPool } from '../codex/relay/transport/websocket/pool.ts';
import { webSocketTransport } from '../codex/relay/transport/websocket/websocket-transport.ts';
import type { Config } from '../config/schema.ts';
import { systemAmbient } from '../kit/ambient.ts';
import type { reportTransport } from '../observe/transport-metrics.ts';

export interface RelayTransportOptions {
  /** Null: not a ChatGPT login. */
  readonly chatgpt: Pick<Config['upstream'], 'chatgptBaseUrl' | 'chatgptTransport'> | null;
  /** The URLs that are connected to. */
  readonly targets: readonly string[];
  readonly environment: Environment;
  readonly report: ReturnType<typeof reportTransport>;
}

/** How the relay reaches its backend. */
export const openTransport = async ({ chatgpt, targets, environment, report }: RelayTransportOptions) => {
  const { clock } = systemAmbient;
  const cookies = chatgpt === null ? null : new CookieJar(chatgpt.chatgptBaseUrl, clock);
  const dispatcher = await openDispatcher(targets, environment);
  const freshDispatcher = await openDispatcher(targets, environment, 'fresh');
  const http = httpTransport({ dispatcher, freshDispatcher, cookies });
  const mode = chatgpt?.chatgptTransport ?? 'http';
  const withSockets = async (sockets: 'auto' | 'websocket'): Promise<Transport> => {
    const trust = await readTrust(targets, environment);
    const { onDial, onPool: onChange, onLent, onFallback } = report;
    const dial = createDial({ clock, cookies, trust, proxies: proxySettings(environment), onDial });
    const pool = new SocketPool({ dial, pacing: new DialPacing(clock), clock, onChange, onLent });
    return webSocketTransport({ mode: sockets, http, pool, clock, onFallback });
  };
  const transport = mode === 'http' ? http : await withSockets(mode);
  return {
    transport,
    cookies,
    dispatcher,
    close: async (): Promise<void> => {
      transport.close();
      await dispatcher.destroy();
      await freshDispatcher.destroy();
    },
  };
};
