import { Button } from '../../components/button.tsx';
import { CodeBlock } from '../../components/copy-button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import type { KeyWithSecret } from './key-types.ts';

interface SecretDialogProps {
  readonly made: KeyWithSecret;
  readonly onClose: () => void;
}

/** The only time that a secret is shown. */
export const SecretDialog = ({ made, onClose }: SecretDialogProps) => (
  <Dialog title={`The secret of ${made.name}`} onClose={onClose}>
    <p>Copy the secret now. It is shown only once: the server keeps a hash of it.</p>
    <CodeBlock text={made.key} label="Copy the secret" />
    <div class="actions">
      <Button kind="primary" onPress={onClose}>
        Done
      </Button>
    </div>
  </Dialog>
);
