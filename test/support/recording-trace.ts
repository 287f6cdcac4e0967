import { RequestTrace } from '../../src/canonical/context/request-trace.ts';
import type { Recorder } from '../../src/canonical/context/trace.ts';

/** A trace whose content goes to a function. Its clock ticks once per look at it. */
export const recordingTrace = (record: Recorder['record']): RequestTrace => {
  let numbers = 0;
  let ticks = 0;
  return new RequestTrace({
    recorder: { isRecording: true, record, next: () => (numbers += 1) },
    now: () => (ticks += 1),
    distributed: null,
  });
};
