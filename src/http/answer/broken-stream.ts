import { failure } from '../../canonical/failure/failure.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import type { Clock } from '../../kit/ambient.ts';
import { isJsonObject } from '../../kit/json/json.ts';
import type { Run } from '../../turns/run.ts';
import type { Frame } from '../../turns/api.ts';
import type { Api } from '../../turns/api.ts';

/** The frames that end a stream after a bug of the proxy: those of a failed turn in this API, from its error on. */
export async function* endOfBrokenStream(
  api: Pick<Api, 'render'>,
  { meta, turns }: Pick<Run, 'meta' | 'turns'>,
  clock: Clock,
): AsyncGenerator<Frame> {
  let isEnding = false;
  for await (const frame of api.render(meta, [
    failedTurn(clock),
    ...Array.from({ length: turns - 1 }, () => failedTurn(clock)),
  ])) {
    isEnding ||= isError(frame);
    if (isEnding) yield frame;
  }
}

async function* failedTurn(clock: Clock): AsyncGenerator<TurnEvent> {
  const outcome = { kind: 'failed', failure: failure('server_error') } as const;
  yield { type: 'turn-ended', outcome, usage: null, at: clock.now() };
}

const isError = ({ event, data }: Frame): boolean =>
  event === 'error' || (event === null && isJsonObject(data) && data['error'] !== undefined);
