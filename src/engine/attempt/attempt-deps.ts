import type { Relay } from '../../codex/relay/server/relay.ts';
import type { ThreadSettings } from '../../codex/translate/thread-start.ts';
import type { Ambient } from '../../kit/ambient.ts';
import type { McpAccess } from '../mcp/mcp-access.ts';
import type { PreStartedThreads } from './pre-started-threads.ts';
import type { OnAnomaly } from './turn-anomalies.ts';
import type { UnreadTotal } from './unread-total.ts';

/** What every attempt at a turn needs. */
export interface AttemptDeps {
  /** Null: the app-server talks to its backend directly. */
  readonly relay: Relay | null;
  readonly preStarted: PreStartedThreads;
  readonly mcp: McpAccess;
  readonly settings: ThreadSettings;
  readonly idleTimeoutMs: number;
  /** What the readers of all turns have not read. */
  readonly unread: UnreadTotal;
  readonly ambient: Ambient;
  readonly onAnomaly: OnAnomaly;
}
