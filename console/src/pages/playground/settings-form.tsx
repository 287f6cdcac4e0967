import { useId } from 'preact/hooks';

import { Button } from '../../components/button.tsx';
import { Field } from '../../components/field.tsx';
import type { Problems, Settings } from './request.ts';

/** An entry of `GET /v1/codex/models`. */
export interface CodexModel {
  readonly id: string;
  readonly is_default: boolean;
  readonly hidden: boolean;
  readonly reasoning_efforts: readonly string[] | null;
  readonly default_reasoning_effort: string | null;
}

interface SettingsFormProps {
  readonly settings: Settings;
  readonly problems: Problems;
  readonly models: readonly CodexModel[];
  readonly onChange: (settings: Settings) => void;
}

/** For models whose efforts are unknown. */
const USUAL_EFFORTS = ['low', 'medium', 'high'];

const EXAMPLE_TOOLS = JSON.stringify(
  [
    {
      type: 'function',
      name: 'get_weather',
      description: 'The weather in a city.',
      parameters: {
        type: 'object',
        properties: { city: { type: 'string' } },
        required: ['city'],
        additionalProperties: false,
      },
      strict: true,
    },
  ],
  null,
  2,
);

const EXAMPLE_SCHEMA = JSON.stringify(
  {
    type: 'object',
    properties: { answer: { type: 'string' }, confidence: { type: 'number' } },
    required: ['answer', 'confidence'],
    additionalProperties: false,
  },
  null,
  2,
);

/** Everything of a request but the conversation. */
export const SettingsForm = ({ settings, problems, models, onChange }: SettingsFormProps) => {
  const known = models.find(({ id }) => id === settings.model);
  const efforts = known?.reasoning_efforts ?? USUAL_EFFORTS;
  const listId = useId();
  return (
    <div class="stack">
      <Field label="Model" error={problems.model ?? null}>
        {(control) => (
          <input
            {...control}
            list={listId}
            value={settings.model}
            onInput={(event) => onChange({ ...settings, model: event.currentTarget.value })}
          />
        )}
      </Field>
      <datalist id={listId}>
        {models
          .filter(({ hidden }) => !hidden)
          .map(({ id }) => (
            <option key={id} value={id}>
              {id}
            </option>
          ))}
      </datalist>
      <Field label="Reasoning effort">
        {(control) => (
          <select
            {...control}
            value={settings.effort}
            onChange={(event) => onChange({ ...settings, effort: event.currentTarget.value })}
          >
            <option value="">
              {known?.default_reasoning_effort == null
                ? 'Default of the model'
                : `Default (${known.default_reasoning_effort})`}
            </option>
            {efforts.map((effort) => (
              <option key={effort} value={effort}>
                {effort}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Instructions">
        {(control) => (
          <textarea
            {...control}
            rows={3}
            value={settings.instructions}
            onInput={(event) => onChange({ ...settings, instructions: event.currentTarget.value })}
          />
        )}
      </Field>
      <JsonField
        label="Tools"
        hint="A JSON array, as in the API. You type the outputs of calls."
        value={settings.tools}
        example={EXAMPLE_TOOLS}
        error={problems.tools ?? null}
        onChange={(tools) => onChange({ ...settings, tools })}
      />
      <JsonField
        label="JSON schema of the answer"
        hint="Empty: the answer is text."
        value={settings.schema}
        example={EXAMPLE_SCHEMA}
        error={problems.schema ?? null}
        onChange={(schema) => onChange({ ...settings, schema })}
      />
    </div>
  );
};

interface JsonFieldProps {
  readonly label: string;
  readonly hint: string;
  readonly value: string;
  readonly example: string;
  readonly error: string | null;
  readonly onChange: (value: string) => void;
}

const JsonField = ({ label, hint, value, example, error, onChange }: JsonFieldProps) => (
  <div class="json-field">
    <Field label={label} hint={hint} error={error}>
      {(control) => (
        <textarea
          {...control}
          class="code-input"
          rows={value === '' ? 2 : 8}
          spellcheck={false}
          value={value}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      )}
    </Field>
    {value === '' ? (
      <Button kind="quiet" label={`Insert an example: ${label}`} onPress={() => onChange(example)}>
        Insert an example
      </Button>
    ) : null}
  </div>
);
