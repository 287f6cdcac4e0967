import { describe, expect, it } from 'vitest';

import type { Outcome } from '../../../canonical/events/turn-event.ts';
import { stopFields } from './project.ts';

describe('stopFields', () => {
  it.each<readonly [Outcome, boolean, string, string | null]>([
    [{ kind: 'completed' }, false, 'end_turn', null],
    [{ kind: 'completed' }, true, 'refusal', null],
    [{ kind: 'completed', stop: 'END' }, false, 'stop_sequence', 'END'],
    [{ kind: 'tool-calls' }, true, 'tool_use', null],
    [{ kind: 'incomplete', reason: 'max_output_tokens' }, false, 'max_tokens', null],
    [{ kind: 'incomplete', reason: 'content_filter' }, false, 'refusal', null],
    [{ kind: 'incomplete', reason: 'max_tool_calls' }, false, 'max_tokens', null],
    [{ kind: 'incomplete', reason: 'max_model_requests' }, false, 'max_tokens', null],
  ])('the stop reason of %j (refused: %s) is %s', (outcome, isRefused, reason, sequence) => {
    expect(stopFields(outcome, isRefused)).toEqual({ stop_reason: reason, stop_sequence: sequence });
  });
});
