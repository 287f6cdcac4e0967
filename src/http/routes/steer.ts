import { readSteer } from '../../openai/responses/input/steer.ts';
import { ignoredHeader } from '../answer/turn-headers.ts';
import { readHeldBody, type BodyDeps } from '../body/read-json.ts';
import type { RunningResponses } from '../../turns/running-responses.ts';
import { route, type Route } from '../route.ts';

export interface SteerDeps extends BodyDeps {
  readonly running: RunningResponses;
}

/** Sends input to the model of a running stream. */
export const steerRoute = (deps: SteerDeps): Route =>
  route('POST /v1/responses/:id/steer', {}, async (http, exchange, params) => {
    const id = params['id'] ?? '';
    const { texts, ignored } = readSteer(await readHeldBody(http, exchange, deps));
    await deps.running.steer(id, { caller: exchange.caller(), texts, signal: exchange.signal });
    return Response.json(
      { id, object: 'response.steer', status: 'accepted' },
      { status: 202, headers: ignoredHeader(ignored) },
    );
  });
