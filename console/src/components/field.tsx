import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

/** Attributes that connect a control with its label, hint and error. */
export interface ControlProps {
  readonly id: string;
  readonly 'aria-describedby'?: string;
  readonly 'aria-invalid'?: true;
}

interface FieldProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly error?: string | null;
  /** Renders the control, such as `(control) => <input {...control} />`. */
  readonly children: (control: ControlProps) => ComponentChildren;
}

/** A form control with its label, and below it a hint and an error. */
export const Field = ({ label, hint, error = null, children }: FieldProps) => {
  const id = useId();
  const described = [hint === undefined ? '' : `${id}-hint`, error === null ? '' : `${id}-error`];
  const describedBy = described.filter((one) => one !== '').join(' ');
  return (
    <div class="field">
      <label htmlFor={id}>{label}</label>
      {children({
        id,
        ...(describedBy === '' ? {} : { 'aria-describedby': describedBy }),
        ...(error === null ? {} : { 'aria-invalid': true }),
      })}
      {hint === undefined ? null : (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {error === null ? null : (
        <p class="field-error" id={`${id}-error`} role="alert">
          {error}
        </p>
      )}
    </div>
  );
};
