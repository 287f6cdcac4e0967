import { captures } from '../features/captures/feature.ts';
import { webConsole } from '../features/console/feature.ts';
import { forwarding } from '../features/forwarding/feature.ts';
import { namedKeys } from '../features/keys/feature.ts';
import { mcp } from '../features/mcp/feature.ts';
import { requestLog } from '../features/request-log/feature.ts';
import { signIn } from '../features/sign-in/feature.ts';
import { telemetry } from '../features/telemetry/feature.ts';
import { usage } from '../features/usage/feature.ts';
import { websocket } from '../features/websocket/feature.ts';
import type { Feature } from './feature.ts';

/** The features of the server, in the order in which they are opened. They are closed in reverse. */
export const FEATURES: readonly Feature[] = [
  telemetry,
  namedKeys,
  usage,
  captures,
  webConsole,
  requestLog,
  forwarding,
  mcp,
  signIn,
  websocket,
];
