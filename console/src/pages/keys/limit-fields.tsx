import { Button } from '../../components/button.tsx';
import { Field } from '../../components/field.tsx';
import type { DraftProblems, LimitDraft } from './key-draft.ts';
import { UNITS, WINDOWS } from './key-types.ts';

interface LimitFieldsProps {
  readonly limits: readonly LimitDraft[];
  readonly problems: DraftProblems;
  readonly onChange: (limits: readonly LimitDraft[]) => void;
}

const SPAN = { minute: 'a minute', '5h': '5 hours', day: 'a day', '7d': '7 days', month: 'a month' };

/** The limits of a key in a form. */
export const LimitFields = ({ limits, problems, onChange }: LimitFieldsProps) => {
  const add = (): void => {
    const id = (limits.at(-1)?.id ?? -1) + 1;
    onChange([...limits, { id, unit: 'tokens', window: 'day', max: '', model: '' }]);
  };
  return (
    <fieldset class="limit-fields">
      <legend>Limits</legend>
      {limits.map((limit, index) => (
        <LimitRow
          key={limit.id}
          limit={limit}
          number={index + 1}
          problem={problems[`limit-${limit.id}`] ?? null}
          onChange={(next) => onChange(limits.with(index, next))}
          onRemove={() => onChange(limits.filter(({ id }) => id !== limit.id))}
        />
      ))}
      <Button onPress={add}>Add a limit</Button>
    </fieldset>
  );
};

interface LimitRowProps {
  readonly limit: LimitDraft;
  readonly number: number;
  readonly problem: string | null;
  readonly onChange: (limit: LimitDraft) => void;
  readonly onRemove: () => void;
}

const LimitRow = ({ limit, number, problem, onChange, onRemove }: LimitRowProps) => (
  <div class="limit-row" role="group" aria-label={`Limit ${number}`}>
    <Field label="At most" error={problem}>
      {(control) => (
        <input
          {...control}
          inputMode="decimal"
          value={limit.max}
          onInput={(event) => onChange({ ...limit, max: event.currentTarget.value })}
        />
      )}
    </Field>
    <Field label="Unit">
      {(control) => (
        <select
          {...control}
          value={limit.unit}
          onChange={(event) => onChange({ ...limit, unit: event.currentTarget.value as LimitDraft['unit'] })}
        >
          {UNITS.map((unit) => (
            <option key={unit} value={unit}>
              {unit}
            </option>
          ))}
        </select>
      )}
    </Field>
    <Field label="Within">
      {(control) => (
        <select
          {...control}
          value={limit.window}
          onChange={(event) =>
            onChange({ ...limit, window: event.currentTarget.value as LimitDraft['window'] })
          }
        >
          {WINDOWS.map((window) => (
            <option key={window} value={window}>
              {SPAN[window]}
            </option>
          ))}
        </select>
      )}
    </Field>
    <Field label="Models">
      {(control) => (
        <input
          {...control}
          placeholder="all together"
          value={limit.model}
          onInput={(event) => onChange({ ...limit, model: event.currentTarget.value })}
        />
      )}
    </Field>
    <Button kind="quiet" label={`Remove limit ${number}`} onPress={onRemove}>
      Remove
    </Button>
  </div>
);
