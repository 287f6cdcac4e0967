import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Icon } from '../../components/icon.tsx';
import type { SignIn } from './account-answers.ts';
import { Countdown } from './countdown.tsx';

interface PendingProps {
  readonly signIn: SignIn;
  readonly isBusy: boolean;
  /** Null: the session may only look. */
  readonly onCancel: (() => void) | null;
}

/** What the user has to do now, and how long it is possible. */
export const PendingSignIn = ({ signIn, isBusy, onCancel }: PendingProps) => (
  <div class="pending-sign-in">
    {signIn.method === 'device' ? <DeviceSteps signIn={signIn} /> : <BrowserSteps signIn={signIn} />}
    <p class="state" role="status">
      Waiting for you to sign in.
    </p>
    <p class="hint">
      Time left: <Countdown until={signIn.expires_at} />
    </p>
    {onCancel === null ? null : (
      <div>
        <Button isBusy={isBusy} onPress={onCancel}>
          Cancel the sign-in
        </Button>
      </div>
    )}
  </div>
);

const DeviceSteps = ({ signIn: { verification_url: url, user_code: code } }: { readonly signIn: SignIn }) =>
  url === null || code === null ? (
    <p>A sign-in by device code is pending. Only keys with the scope “admin” see its code.</p>
  ) : (
    <ol class="steps">
      <li>
        Open <OutsideLink href={url} /> in any browser, on any machine, and sign in to ChatGPT.
      </li>
      <li>
        Enter this code:
        <div class="user-code">
          <code>{code}</code>
          <CopyButton text={code} label="Copy the code" />
        </div>
      </li>
    </ol>
  );

const BrowserSteps = ({ signIn: { auth_url: url } }: { readonly signIn: SignIn }) =>
  url === null ? (
    <p>A sign-in by browser is pending. Only keys with the scope “admin” see its address.</p>
  ) : (
    <>
      <p>
        Open <OutsideLink href={url} text="the sign-in page of ChatGPT" /> in a browser on the machine of the
        server. Through a tunnel it does not work: use a device code.
      </p>
      <div>
        <CopyButton text={url} label="Copy the address of the sign-in page" />
      </div>
    </>
  );

const OutsideLink = ({ href, text = href }: { readonly href: string; readonly text?: string }) => (
  <a href={href} target="_blank" rel="noreferrer">
    {text} <Icon name="external" />
    <span class="visually-hidden"> (opens a new tab)</span>
  </a>
);
