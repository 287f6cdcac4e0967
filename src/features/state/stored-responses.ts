import { type GatewayError } from '../../canonical/failure/failure.ts';
import type { Produced } from '../../canonical/request/item.ts';
import { runSliced, type Sliced } from '../../kit/async/event-loop.ts';
import type { JsonObject } from '../../kit/json/json.ts';
import { quoted } from '../../kit/text/display.ts';
import type { ResponseRow, TurnRow } from './store/port.ts';
import type { LoadLimits } from '../../turns/turn-state.ts';
import { isMessageId, type StateParts, STORES_NOTHING } from './turn-states.ts';
import { turnKeyOf } from './turn-states.ts';
import {
  readResponse,
  corrupt,
  isCorrupt,
  readStoredTurn,
  visibleItems,
  type StoredItem,
} from './stored-turn.ts';
import { stateError } from './failures.ts';

/** A response and its output as its client saw it. */
export interface FoundResponse {
  readonly row: ResponseRow;
  /** Its `output` is empty: the items are separate, so that they can be shown with more or fewer fields. */
  readonly object: JsonObject;
  readonly items: readonly Produced[];
  /** The `include` of the request that created it. */
  readonly include: readonly string[];
}

/** The stored responses of all owners. Throws if a response is unknown. */
export interface StoredResponses {
  find(owner: string, id: string, limits: LoadLimits): Promise<FoundResponse>;
  delete(owner: string, id: string): Promise<void>;
  /** What the model read for the response, the oldest first: the conversation before it, then its own input. */
  inputItems(owner: string, id: string, limits: LoadLimits): Promise<readonly StoredItem[]>;
}

/** `kept` null: nothing is stored. */
export const createStoredResponses = (
  kept: Pick<StateParts, 'store' | 'chains' | 'items'> | null,
): StoredResponses => {
  if (kept === null) {
    const unknown = async (_: string, id: string): Promise<never> => {
      throw unknownResponse(id, ` ${STORES_NOTHING}.`);
    };
    return { find: unknown, delete: unknown, inputItems: unknown };
  }
  const { store } = kept;
  return {
    async find(owner, id, limits) {
      const row = isMessageId(id) ? null : await store.responses.find(owner, id);
      if (row === null) throw unknownResponse(id);
      limits.onBytes(row.body.length);
      const { object, shown, include = [] } = await runSliced(readResponse(row), limits.signal);
      const items = shown ?? (row.position === null ? [] : await outputOf(owner, id, limits));
      // Its status changes while it runs.
      return { row, object: row.isBackground ? { ...object, status: row.status } : object, items, include };
    },
    async delete(owner, id) {
      const found = await atResponse(owner, id);
      if (found === null) throw unknownResponse(id);
      const itemIds = found.position ? await outputIds(owner, id) : [];
      if (!(await store.responses.delete(owner, id))) throw unknownResponse(id);
      if (found.position) kept.chains.drop(owner, found.position);
      kept.items.forget(owner, itemIds);
    },
    async inputItems(owner, id, { onBytes, signal }) {
      const found = await atResponse(owner, id);
      if (found === null) throw unknownResponse(id);
      // A background response that has not ended has not stored its input yet.
      if (found.position === null) return [];
      onBytes((await store.turns.size(owner, found.position)) ?? 0);
      const rows = await store.turns.upTo(owner, found.position);
      return runSliced(itemsBefore(rows), signal);
    },
  };

  async function atResponse(owner: string, id: string) {
    return isMessageId(id) ? null : store.responses.at(owner, id);
  }

  /** Empty for a turn that cannot be read, for example because its key is lost: it can be deleted anyway. */
  async function outputIds(owner: string, id: string): Promise<readonly string[]> {
    try {
      const turn = await store.turns.byKey(owner, turnKeyOf(id));
      if (turn === null) return [];
      const { output } = await runSliced(readStoredTurn(turn), null);
      return output.map((item) => item.id);
    } catch (error) {
      if (isCorrupt(error)) return [];
      throw error;
    }
  }

  async function outputOf(
    owner: string,
    id: string,
    { onBytes, signal }: LoadLimits,
  ): Promise<readonly Produced[]> {
    const turn = await store.turns.byKey(owner, turnKeyOf(id));
    if (turn === null) throw corrupt(`turn ${turnKeyOf(id)}`);
    onBytes(turn.body.length);
    return (await runSliced(readStoredTurn(turn), signal)).output;
  }
};

/** In slices: a conversation may be megabytes long. */
function* itemsBefore(rows: readonly TurnRow[]): Sliced<readonly StoredItem[]> {
  const items: StoredItem[] = [];
  for (const [index, row] of rows.entries()) {
    const turn = yield* readStoredTurn(row);
    const isLast = index === rows.length - 1;
    for (const item of visibleItems(row.key, isLast ? { ...turn, output: [] } : turn)) items.push(item);
    yield;
  }
  return items;
}

const unknownResponse = (id: string, why = ''): GatewayError =>
  stateError('unknown_response', { message: `Response with id '${quoted(id)}' not found.${why}` });
