import { useCallback, useId, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';

import { ApiError } from '../../api/api-error.ts';
import { Button } from '../../components/button.tsx';
import { Field } from '../../components/field.tsx';
import { Icon } from '../../components/icon.tsx';
import { ErrorNote } from '../../components/states.tsx';
import { indented } from '../../format/indented.ts';
import { APPROVAL, argumentsOf, stringOf, type RequiredAction } from './agent-answers.ts';
import { changesOf } from './diff.ts';
import { PatchFiles } from './patch-view.tsx';
import { proposalFacts, visible } from './readable.ts';
import { InputKeys, resultInput, sendInput, type CallAnswer } from './send-input.ts';

interface WaitingCallsProps {
  readonly sessionId: string;
  readonly actions: readonly RequiredAction[];
}

/** The calls that wait for an answer: approvals, and functions of the client. */
export const WaitingCalls = ({ sessionId, actions }: WaitingCallsProps) => {
  const ref = useRef<HTMLDivElement>(null);
  const focus = useCallback(() => ref.current?.focus({ preventScroll: true }), []);
  return (
    <div class="waiting" ref={ref} tabIndex={-1}>
      {actions.map((action, index) => (
        <WaitingCall
          key={action.call_id}
          sessionId={sessionId}
          action={action}
          place={actions.length === 1 ? '' : ` (${index + 1} of ${actions.length})`}
          onFocusLost={focus}
        />
      ))}
    </div>
  );
};

interface WaitingCallProps {
  readonly sessionId: string;
  readonly action: RequiredAction;
  readonly place: string;
  /** What had the focus goes away: the next Tab has to continue here. */
  readonly onFocusLost: () => void;
}

const WaitingCall = ({ sessionId, action, place, onFocusLost }: WaitingCallProps) => {
  const titleId = useId();
  const ref = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const element = ref.current;
    return () => {
      if (element?.contains(document.activeElement) === true) onFocusLost();
    };
  }, [onFocusLost]);
  const { isBusy, isTooLate, error, answer } = useAnswer(sessionId, action);
  const isApproval = action.name === APPROVAL;
  return (
    <section class="waiting-call" ref={ref} aria-labelledby={titleId}>
      <h2 id={titleId}>
        <Icon name={isApproval ? 'ask' : 'tool'} />
        {isApproval ? titleOf(action) : `The client has to answer ${action.name}`}
        {place}
      </h2>
      {isApproval ? <Proposal action={action} /> : <Arguments action={action} />}
      {isTooLate ? (
        <p class="note">This call waits no longer: it was answered elsewhere, or took too long.</p>
      ) : isApproval ? (
        <ApprovalForm isBusy={isBusy} onAnswer={answer} onBack={onFocusLost} />
      ) : (
        <FunctionForm isBusy={isBusy} onAnswer={answer} />
      )}
      {error === null ? null : <ErrorNote error={error} />}
    </section>
  );
};

/** Sends the answer once, also if a person has to press twice because the network failed. */
const useAnswer = (sessionId: string, action: RequiredAction) => {
  const [isBusy, setIsBusy] = useState(false);
  const [isTooLate, setIsTooLate] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [keys] = useState(() => new InputKeys());
  const answer = async (given: CallAnswer): Promise<void> => {
    const key = keys.keyOf(JSON.stringify(given));
    setIsBusy(true);
    setError(null);
    try {
      await sendInput(sessionId, resultInput(action, given), key);
      // The event of the session removes this call.
    } catch (reason) {
      const isUnknown = reason instanceof ApiError && reason.message.startsWith('Unknown pending tool call');
      if (isUnknown) setIsTooLate(true);
      else setError(reason);
      setIsBusy(false);
    }
  };
  return { isBusy, isTooLate, error, answer: (given: CallAnswer) => void answer(given) };
};

const inputOf = ({ arguments: value }: RequiredAction) => {
  const outer = argumentsOf(value);
  return { tool: stringOf(outer['name']), cwd: outer['cwd'], input: argumentsOf(outer['arguments']) };
};

const titleOf = (action: RequiredAction): string => {
  const { tool } = inputOf(action);
  if (tool === 'apply_patch') return 'codex wants to change files';
  return tool === 'exec_command' ? 'codex wants to run a command' : `codex wants to use ${tool}`;
};

/** What would be run. */
const Proposal = ({ action }: { readonly action: RequiredAction }) => {
  const { tool, cwd, input } = useMemo(() => inputOf(action), [action]);
  const changes = useMemo(() => (tool === 'apply_patch' ? changesOf(input) : []), [tool, input]);
  const facts = proposalFacts(input, cwd);
  const text = tool === 'apply_patch' ? input['patch'] : input['cmd'];
  return (
    <div class="proposal">
      {changes.length > 0 ? (
        <PatchFiles changes={changes} />
      ) : (
        <pre class="terminal proposal-command" tabIndex={0} role="region" aria-label="What it would run">
          {visible(typeof text === 'string' ? text : JSON.stringify(input, null, 2))}
        </pre>
      )}
      {facts.length > 0 ? (
        <p class="hint">
          {facts.map(({ word, value }) => (
            <span key={word}>
              {word} <code>{value}</code>,{' '}
            </span>
          ))}
          inside the sandbox
        </p>
      ) : null}
    </div>
  );
};

const Arguments = ({ action }: { readonly action: RequiredAction }) => (
  <pre class="terminal" tabIndex={0} role="region" aria-label={`Arguments of ${action.name}`}>
    {indented(JSON.stringify(action.arguments))}
  </pre>
);

interface FormProps {
  readonly isBusy: boolean;
  readonly onAnswer: (answer: CallAnswer) => void;
}

const ApprovalForm = ({ isBusy, onAnswer, onBack }: FormProps & { readonly onBack: () => void }) => {
  const form = useRef<HTMLFormElement>(null);
  const [reason, setReason] = useState('');
  const [isDeclining, setIsDeclining] = useState(false);
  useLayoutEffect(() => {
    if (!isDeclining) return;
    form.current?.querySelector('input')?.focus({ preventScroll: true });
    form.current?.scrollIntoView({ block: 'nearest' });
  }, [isDeclining]);
  const back = (): void => {
    setIsDeclining(false);
    onBack();
  };
  const decline = (): void =>
    onAnswer(reason.trim() === '' ? { success: false } : { success: false, error: reason.trim() });
  if (!isDeclining)
    return (
      <div class="actions">
        <Button isDisabled={isBusy} onPress={() => setIsDeclining(true)}>
          Decline…
        </Button>
        <Button kind="primary" isBusy={isBusy} onPress={() => onAnswer({ success: true, output: 'approve' })}>
          Approve
        </Button>
      </div>
    );
  return (
    <form
      ref={form}
      class="decline"
      onSubmit={(event) => {
        event.preventDefault();
        decline();
      }}
    >
      <Field label="Reason" hint="The model reads it, and goes on without the call. It may be empty.">
        {(control) => (
          <input
            {...control}
            value={reason}
            maxLength={2000}
            onInput={(event) => setReason(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === 'Escape') back();
            }}
          />
        )}
      </Field>
      <div class="actions">
        <Button isDisabled={isBusy} onPress={back}>
          Back
        </Button>
        <Button kind="danger" type="submit" isBusy={isBusy}>
          Decline
        </Button>
      </div>
    </form>
  );
};

const FunctionForm = ({ isBusy, onAnswer }: FormProps) => {
  const [text, setText] = useState('');
  return (
    <form
      class="decline"
      onSubmit={(event) => {
        event.preventDefault();
        onAnswer({ success: true, output: text });
      }}
    >
      <Field label="Output" hint="A program that follows this session may answer first.">
        {(control) => (
          <textarea
            {...control}
            rows={2}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        )}
      </Field>
      <div class="actions">
        <Button
          isDisabled={isBusy}
          onPress={() => onAnswer({ success: false, error: text.trim() || 'The call failed.' })}
        >
          Send as error
        </Button>
        <Button kind="primary" type="submit" isBusy={isBusy}>
          Send output
        </Button>
      </div>
    </form>
  );
};
