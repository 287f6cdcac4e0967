import { answer } from '../../src/demo/answer.ts';
import { encodeEvent, type ModelConnection } from '../../src/demo/connection.ts';
import { modelErrorBody, type Script } from '../../src/demo/model-server.ts';
import type { ScriptStep } from '../../src/demo/script-step.ts';
import { hello } from '../support/scripts.ts';
import { NONCE, rightCalls, rightText, type Plan } from './plan.ts';

/** The plans of the current requests, by a word in their prompts. */
export interface PlannedModel {
  readonly script: Script;
  expect(plan: Plan): void;
  forget(plan: Plan): void;
}

const stepsOf = (plan: Plan): readonly ScriptStep[] =>
  plan.tools === 'called'
    ? rightCalls(plan).map((text, index) => ({
        call: { name: 'look_up', arguments: text, callId: `call_${index}_${plan.nonce}` },
        chunkSize: 100,
      }))
    : [{ text: rightText(plan), chunkSize: 1 + (plan.size % 500) }];

/** The bytes of the whole answer; they are sent in other pieces, or only in part. */
const wireOf = async (connection: ModelConnection, plan: Plan): Promise<string> => {
  let wire = '';
  const nothing = (): Promise<void> => Promise.resolve();
  await answer(
    {
      request: connection.request,
      signal: connection.signal,
      closed: false,
      open: () => {},
      write: (raw) => void (wire += raw),
      event: (event) => void (wire += encodeEvent(event)),
      flush: nothing,
      wait: nothing,
      hang: nothing,
      reply: () => {},
      end: () => {},
      destroy: () => {},
    },
    stepsOf(plan),
  );
  return wire;
};

const play = async (connection: ModelConnection, plan: Plan, call: number): Promise<void> => {
  const { model } = plan;
  const wire = await wireOf(connection, plan);
  if (model.kind === 'answers' || call > model.times) {
    const pieces = model.kind === 'answers' ? model.pieces : 1;
    // Whole characters: a socket cannot carry half of a surrogate pair.
    const characters = Array.from(wire);
    const length = Math.ceil(characters.length / pieces);
    for (let from = 0; from < characters.length && !connection.closed; from += length) {
      connection.write(characters.slice(from, from + length).join(''));
      if (model.kind === 'answers') await connection.wait(model.pauseMs);
      else await connection.flush();
    }
    return;
  }
  if (model.kind === 'refuses') {
    connection.reply(model.status, modelErrorBody('The model is in no mood.', 'server_error', null, null));
    return;
  }
  // Never so far that the last event could be read.
  const end = wire.lastIndexOf('event: response.completed') + 20;
  connection.write(wire.slice(0, Math.floor(model.at * end)));
  await connection.flush();
  if (model.kind === 'stalls') await connection.hang();
  else if (model.kind === 'cuts') connection.destroy();
};

export const plannedModel = (): PlannedModel => {
  const plans = new Map<string, { readonly plan: Plan; calls: number }>();
  return {
    script(request, connection) {
      const nonces = JSON.stringify(request.body['input']).match(NONCE) ?? [];
      // More than one: answers are mixed, and the client will notice.
      const known = plans.get(nonces.at(-1) ?? '');
      if (known === undefined) return hello(request, connection);
      known.calls += 1;
      return play(connection, known.plan, known.calls);
    },
    expect: (plan) => void plans.set(plan.nonce, { plan, calls: 0 }),
    forget: (plan) => void plans.delete(plan.nonce),
  };
};
