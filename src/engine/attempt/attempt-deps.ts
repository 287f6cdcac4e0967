import type { Ambient } from '../../kit/ambient.ts';
import type { McpAccess } from '../mcp/mcp-access.ts';
import type { OnAnomaly } from './turn-anomalies.ts';
import type { UnreadTotal } from './unread-total.ts';

/** What every attempt at a turn needs. */
export interface AttemptDeps {
  readonly mcp: McpAccess;
  readonly idleTimeoutMs: number;
  /** How much longer than the backend the app-server may be silent. */
  readonly graceMs: number;
  /** What the readers of all turns have not read. */
  readonly unread: UnreadTotal;
  readonly ambient: Ambient;
  readonly onAnomaly: OnAnomaly;
}
