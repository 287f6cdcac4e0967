import { readSteer } from '../../openai/responses/input/steer.ts';
import { ignoredHeader } from '../answer/ignored-header.ts';
import { readBody, type BodyDeps } from '../body/read-body.ts';
import type { RunningResponses } from '../../turns/running-responses.ts';
import type { Route } from '../server.ts';

export interface SteerDeps extends BodyDeps {
  readonly running: Pick<RunningResponses, 'steer'>;
}

/** Sends input to the model of a running stream. */
export const steerRoute = (deps: SteerDeps): Route => ({
  method: 'POST',
  path: '/v1/responses/:id/steer',
  access: 'key',
  async handle(http, exchange, params) {
    const id = params['id'] ?? '';
    const { texts, ignored } = readSteer(await readBody(http, exchange, deps));
    await deps.running.steer(id, { caller: exchange.caller(), texts, signal: exchange.signal });
    return Response.json(
      { id, object: 'response.steer', status: 'accepted' },
      { status: 202, headers: ignoredHeader(ignored) },
    );
  },
});
