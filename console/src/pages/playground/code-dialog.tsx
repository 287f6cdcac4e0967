import { useState } from 'preact/hooks';

import { CodeBlock } from '../../components/copy-button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import type { RequestBody } from './request.ts';
import { LANGUAGES, snippet, type Language } from './snippets.ts';

interface CodeDialogProps {
  readonly body: RequestBody;
  readonly onClose: () => void;
}

/** The next request as code. */
export const CodeDialog = ({ body, onClose }: CodeDialogProps) => {
  const [language, setLanguage] = useState<Language>('curl');
  return (
    <Dialog title="The request as code" onClose={onClose}>
      <p class="hint">
        What Send would send now, with the whole conversation. Put an API key in the place of YOUR_API_KEY.
      </p>
      <fieldset class="choices">
        <legend class="visually-hidden">Language</legend>
        {LANGUAGES.map((one) => (
          <label key={one} class="check">
            <input
              type="radio"
              name="language"
              checked={one === language}
              onChange={() => setLanguage(one)}
            />
            {one}
          </label>
        ))}
      </fieldset>
      <CodeBlock
        text={snippet(language, `${window.location.origin}/v1`, body)}
        label={`Copy the request for ${language}`}
      />
    </Dialog>
  );
};
