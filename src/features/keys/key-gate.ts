import { GatewayError, gatewayError } from '../../canonical/failure/failure.ts';
import type { ModelFilter, ModelInfo } from '../../canonical/models/model-names.ts';
import type { ModelPrices } from '../../canonical/models/prices.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import { mapAll, type OneOrMore } from '../../kit/collections/lists.ts';
import {
  FREE_PASS,
  type ForwardAsk,
  type GateAsk,
  type GatePass,
  type TurnGate,
} from '../../turns/turn-gate.ts';
import { bytesToTokens, estimateInput, OUTPUT_ESTIMATE, RunMeter } from './run-meter.ts';
import type { ApiKey, KeyDirectory, KeyLimit } from './key.ts';
import { limitsFor, neededPrice, NOTHING_SPENT, type Expense, spentOf } from './key-limits.ts';
import { mayUseModel, modelRefusal, withinEffort } from './key-policy.ts';
import type { KeyStorage } from './key-storage.ts';
import type { OpenReservation, Reservations } from './reservations.ts';

export interface KeyGateDeps {
  readonly directory: KeyDirectory;
  readonly reservations: Pick<Reservations, 'reserve'>;
  /** Null: nothing is stored. */
  readonly storage: KeyStorage | null;
  readonly prices: ModelPrices;
  /** Null: the model is unknown. */
  readonly modelInfo: (model: string) => Promise<ModelInfo | null>;
  /** Called with the code of the error that a client of a key gets. */
  readonly onRefused: (code: string) => void;
}

/** Holds named keys to their policy and their limits, and all keys to what is stored for them. */
export class KeyGate implements TurnGate {
  readonly #deps: KeyGateDeps;
  readonly #concurrency = new KeyConcurrency();

  constructor(deps: KeyGateDeps) {
    this.#deps = deps;
  }

  modelFilter(caller: string): ModelFilter | null {
    const key = this.#deps.directory.byId(caller);
    return key === null || key.models.length === 0 ? null : (model) => mayUseModel(key, model);
  }

  allow(ask: Parameters<TurnGate['allow']>[0]): Promise<OneOrMore<TurnRequest>> {
    return this.#counted(() => this.#allow(ask));
  }

  enter(ask: GateAsk): Promise<GatePass> {
    return this.#counted(() => this.#enter(ask));
  }

  async keep(caller: string): Promise<void> {
    await this.#counted(async () => this.#deps.storage?.check(caller));
  }

  /** A key that is held to models or to a cost may not send it: its model is unknown. */
  forward(ask: ForwardAsk): Promise<(hasAnswered: boolean) => void> {
    return this.#counted(() => this.#forward(ask));
  }

  async #allow({
    caller,
    requests,
    nameOf,
  }: Parameters<TurnGate['allow']>[0]): Promise<OneOrMore<TurnRequest>> {
    const key = this.#keyOf(caller);
    if (key === null) return requests;
    const { effort } = key;
    for (const { model } of requests) {
      if (!mayUseModel(key, model)) throw modelRefusal(key, model, nameOf('model'));
    }
    if (effort === null) return requests;
    const about = {
      info: await this.#deps.modelInfo(requests[0].model),
      param: nameOf('reasoning.effort'),
    };
    return mapAll(requests, (request) => withinEffort(request, effort, about));
  }

  async #enter(ask: GateAsk): Promise<GatePass> {
    if (ask.isKept) await this.#deps.storage?.check(ask.caller);
    const key = this.#deps.directory.byId(ask.caller);
    if (key === null || (key.limits.length === 0 && key.concurrency === null)) return FREE_PASS;
    const { requests, choices } = ask;
    const leave =
      key.concurrency === null
        ? () => {}
        : this.#concurrency.enter(key.id, requests.length * choices, key.concurrency);
    try {
      const limits = limitsFor(key.limits, requests[0].model);
      return limits.size === 0 ? { ...FREE_PASS, leave } : await this.#reserve(key, limits, { ask, leave });
    } catch (error) {
      leave();
      throw error;
    }
  }

  async #reserve(
    key: ApiKey,
    limits: ReadonlyMap<string, KeyLimit>,
    { ask, leave }: { readonly ask: GateAsk; readonly leave: () => void },
  ): Promise<GatePass> {
    const { reservations, prices, directory } = this.#deps;
    const { requests, choices, signal } = ask;
    const inputTokens = estimateInput(requests, ask.bytes);
    const outputTokens = requests.reduce(
      (sum, { maxOutputTokens }) => sum + (maxOutputTokens ?? OUTPUT_ESTIMATE),
      0,
    );
    const reserve = (
      held: ReadonlyMap<string, KeyLimit>,
      estimate: Expense,
      until: AbortSignal,
    ): Promise<OpenReservation> => {
      const price = neededPrice(held, prices, { model: requests[0].model, param: ask.nameOf('model') });
      return reservations.reserve({ keyId: key.id, limits: held, price, estimate, signal: until });
    };
    let current = await reserve(
      limits,
      {
        turns: requests.length * choices,
        inputTokens: inputTokens * choices,
        cachedInputTokens: 0,
        outputTokens: outputTokens * choices,
      },
      signal,
    );
    const ofTurn = Math.ceil(inputTokens / requests.length);
    const meter = new RunMeter({ inputTokens: ofTurn, asked: ask.asked });
    let isLeft = false;
    return {
      headers: current.headers,
      watch: () => meter.watch(),
      async steer(chars, steering) {
        const more = {
          turns: 1,
          inputTokens: ofTurn + bytesToTokens(chars),
          cachedInputTokens: 0,
          outputTokens,
        };
        // Its limits may have changed while the turn ran.
        const now = limitsFor((directory.byId(key.id) ?? key).limits, requests[0].model);
        const next = now.size === 0 ? UNLIMITED : await reserve(now, more, steering);
        return {
          begin(used) {
            const last = current;
            current = next;
            const settled = meter.endPart();
            const settleLast = async (): Promise<void> => {
              const usage = await used;
              // What was reserved counts.
              if (usage === null) return;
              settled(spentOf(usage));
              last.settle(spentOf(usage));
            };
            void settleLast();
          },
          giveBack: () => next.settle(NOTHING_SPENT),
        };
      },
      leave() {
        if (isLeft) return;
        isLeft = true;
        leave();
        meter.whenIdle(() => current.settle(meter.spent));
      },
    };
  }

  async #forward({ caller, isText, bytes, signal }: ForwardAsk): Promise<(hasAnswered: boolean) => void> {
    const key = this.#keyOf(caller);
    if (key === null) return () => {};
    if (key.models.length > 0 || key.limits.some(({ unit }) => unit === 'cost')) throw forwardRefusal();
    // Limits for some models only are not about it: its model is unknown.
    const limits = limitsFor(key.limits, '');
    if (limits.size === 0) return () => {};
    const spent = { ...NOTHING_SPENT, turns: 1, inputTokens: isText ? bytesToTokens(bytes) : 0 };
    const { reservations } = this.#deps;
    const reservation = await reservations.reserve({
      keyId: key.id,
      limits,
      price: null,
      estimate: spent,
      signal,
    });
    return (hasAnswered) => reservation.settle(hasAnswered ? spent : NOTHING_SPENT);
  }

  check(caller: string): void {
    this.#keyOf(caller);
  }

  /** Null: a key without a policy. Throws if the key may not be used now: it may have changed since it was checked. */
  #keyOf(caller: string): ApiKey | null {
    const refusal = this.#deps.directory.refusalOf(caller);
    if (refusal !== null) throw refusal;
    return this.#deps.directory.byId(caller);
  }

  async #counted<Value>(work: () => Promise<Value>): Promise<Value> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof GatewayError) this.#deps.onRefused(error.failure.code);
      throw error;
    }
  }
}

/** Of a key whose limits were removed. */
const UNLIMITED: OpenReservation = { headers: {}, settle() {} };

const forwardRefusal = (): GatewayError =>
  gatewayError('model_not_found', {
    message:
      'This key cannot use this endpoint: it is limited to some models or has a limit of the cost, and this server does not read the model of a request that it passes on to another provider.',
  });

/** Counts the turns of keys on this instance, those that wait for a slot too. */
class KeyConcurrency {
  readonly #running = new Map<string, number>();

  /** Throws if the key would have more than `max` turns. Returns a function that ends these; it is idempotent. */
  enter(keyId: string, turns: number, max: number): () => void {
    const running = this.#running.get(keyId) ?? 0;
    if (running + turns > max) {
      throw gatewayError('concurrency_limit', {
        message: `This key runs at most ${max} ${max === 1 ? 'turn' : 'turns'} at the same time: ${running} ${running === 1 ? 'is' : 'are'} running or waiting, and this request needs ${turns}.`,
        retryAfterSeconds: 1,
      });
    }
    this.#running.set(keyId, running + turns);
    let isLeft = false;
    return () => {
      if (isLeft) return;
      isLeft = true;
      const left = (this.#running.get(keyId) ?? turns) - turns;
      if (left > 0) this.#running.set(keyId, left);
      else this.#running.delete(keyId);
    };
  }
}
