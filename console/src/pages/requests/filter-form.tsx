import { useEffect, useRef, useState } from 'preact/hooks';

import { Button } from '../../components/button.tsx';
import { Field } from '../../components/field.tsx';
import { navigate } from '../../routing/location.ts';
import { pagePath, type Filters } from './request-answers.ts';

const STATUSES = [
  ['', 'All'],
  ['running', 'Running'],
  ['ok', 'Without error'],
  ['failed', 'With an error'],
  ['4xx', '4xx'],
  ['429', '429: limits'],
  ['5xx', '5xx'],
] as const;

const RANGES = [
  ['', 'Any time'],
  ['15', 'Last 15 minutes'],
  ['60', 'Last hour'],
  ['1440', 'Last day'],
] as const;

const TEXTS = [
  ['model', 'Model'],
  ['key', 'Key id'],
  ['client', 'Client'],
] as const;

const show = (filters: Filters): void => navigate(pagePath(filters), 'replace');

/** What the list shows. Lists apply at once, texts with Enter; the address of the page has all of it. */
export const FilterForm = ({ filters }: { readonly filters: Filters }) => {
  const [typed, setTyped] = useState(filters);
  const search = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const focus = (event: KeyboardEvent): void => {
      if (event.key !== '/' || isTyping(event)) return;
      event.preventDefault();
      search.current?.focus();
    };
    document.addEventListener('keydown', focus);
    return () => document.removeEventListener('keydown', focus);
  }, []);
  const choose = (change: Partial<Filters>): void => {
    const next = { ...typed, ...change };
    setTyped(next);
    show(next);
  };
  return (
    <form
      class="request-filters"
      aria-label="Filters"
      onSubmit={(event) => {
        event.preventDefault();
        show(typed);
      }}
    >
      <Choice
        label="Status"
        value={typed.status}
        options={STATUSES}
        onChange={(status) => choose({ status })}
      />
      <Choice label="Time" value={typed.within} options={RANGES} onChange={(within) => choose({ within })} />
      {TEXTS.map(([name, label]) => (
        <Field key={name} label={label}>
          {(control) => (
            <input
              {...control}
              value={typed[name]}
              spellcheck={false}
              onInput={(event) => setTyped({ ...typed, [name]: event.currentTarget.value.trim() })}
            />
          )}
        </Field>
      ))}
      <Field label="Id">
        {(control) => (
          <input
            {...control}
            ref={search}
            type="search"
            value={typed.q}
            spellcheck={false}
            placeholder="Request or response"
            onInput={(event) => setTyped({ ...typed, q: event.currentTarget.value.trim() })}
          />
        )}
      </Field>
      <Button type="submit">Filter</Button>
    </form>
  );
};

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly onChange: (value: string) => void;
}

const Choice = ({ label, value, options, onChange }: ChoiceProps) => (
  <Field label={label}>
    {(control) => (
      <select {...control} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map(([one, text]) => (
          <option key={one} value={one}>
            {text}
          </option>
        ))}
      </select>
    )}
  </Field>
);

/** Whether a key belongs to a text or a list, and is not a shortcut. */
export const isTyping = ({ target, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean =>
  ctrlKey ||
  metaKey ||
  altKey ||
  (target instanceof Element && target.closest('input, select, textarea, dialog') !== null);
