import { gatewayError, type GatewayError } from '../../canonical/failure/failure.ts';
import { isJsonObject, type Json, type JsonObject } from '../../kit/json/json.ts';

/** The body of a captured request, as it is sent again. */
export interface ReplayBody {
  readonly body: JsonObject;
  /** Where it differs from what the client sent, for people. */
  readonly changes: readonly string[];
}

/** What a capture has in place of encrypted texts and of long ones. */
const SEALED = /^\(sealed: \d+ characters, sha256 [0-9a-f]{64}\)$/;
const CUT = /"\(cut: \d+ characters, sha256 [0-9a-f]{64}\)"/;

/**
 * Makes a body that leaves nothing behind: a replay is an experiment of an administrator. Throws if it cannot be sent
 * without a change of stored data, or if the capture lacks a part of it.
 */
export const replayBody = (captured: JsonObject, path: string): ReplayBody => {
  if ((captured['conversation'] ?? null) !== null)
    throw notReplayable('It would add its items to a conversation. Send it without `conversation` instead.');
  if (CUT.test(JSON.stringify(captured)))
    throw notReplayable('Its capture has only the length of a very long text or image.');
  const changes: string[] = [];
  const body: Record<string, Json | undefined> = { ...captured };
  const stores = path.endsWith('/responses') ? captured['store'] !== false : captured['store'] === true;
  if (stores) {
    body['store'] = false;
    changes.push('`store` is false: nothing of a replay is stored.');
  }
  if (captured['background'] === true) {
    body['background'] = false;
    changes.push('`background` is false: the replay waits for the answer.');
  }
  const input = captured['input'];
  if (Array.isArray(input)) {
    const kept = (input as readonly Json[]).filter((item) => !isSealed(item));
    if (kept.length < input.length) {
      body['input'] = kept;
      changes.push('Encrypted items of `input` are left out: captures do not have them.');
    }
  }
  return { body, changes };
};

const isSealed = (item: Json): boolean =>
  isJsonObject(item) &&
  typeof item['encrypted_content'] === 'string' &&
  SEALED.test(item['encrypted_content']);

export const notReplayable = (why: string): GatewayError =>
  gatewayError('request_not_replayable', { message: `This request cannot be sent again. ${why}` });
