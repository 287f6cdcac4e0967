import { useState } from 'preact/hooks';

import { api } from '../../api/client.ts';
import { useResource } from '../../api/use-resource.ts';
import { Button } from '../../components/button.tsx';
import { Card } from '../../components/card.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { Empty, ErrorNote, Loaded } from '../../components/states.tsx';
import { hasScope, useSession } from '../../session.ts';
import { AnswerView } from './answer-view.tsx';
import { CodeDialog } from './code-dialog.tsx';
import { Composer, EMPTY_DRAFT, itemsOf, ToolOutputs } from './composer.tsx';
import { ItemView } from './item-view.tsx';
import { openCalls, type Item } from './items.ts';
import { problemsOf, requestBody, type Settings } from './request.ts';
import { SettingsForm, type CodexModel } from './settings-form.tsx';
import { useStickToEnd } from './stick-to-end.ts';
import { inputOf, useConversation } from './use-conversation.ts';
import './playground.css';

/** A chat with the models of the backend, over the API that clients use. */
export const PlaygroundPage = () => {
  const isAllowed = hasScope(useSession(), 'infer');
  if (isAllowed) return <Playground />;
  return (
    <>
      <PageHead title="Playground" />
      <ErrorNote
        error={
          new Error(
            'Requests to models need a key with the scope "infer". Sign in with a key that also has it.',
          )
        }
      />
    </>
  );
};

const Playground = () => {
  const models = useResource('models', (signal) =>
    api.get<{ readonly data: readonly CodexModel[] }>('/v1/codex/models', signal),
  );
  return <Loaded of={models}>{({ data }) => <Chat models={data} />}</Loaded>;
};

const standardModel = (models: readonly CodexModel[]): string =>
  (models.find(({ is_default: isDefault }) => isDefault) ?? models[0])?.id ?? '';

const Chat = ({ models }: { readonly models: readonly CodexModel[] }) => {
  const [settings, setSettings] = useState<Settings>({
    model: standardModel(models),
    effort: '',
    instructions: '',
    tools: '',
    schema: '',
  });
  const [draft, setDraft] = useState(EMPTY_DRAFT);
  const [isCodeShown, setIsCodeShown] = useState(false);
  const { entries, isRunning, run, stop, clear } = useConversation();
  const { ref, onScroll } = useStickToEnd(entries);
  const problems = problemsOf(settings);
  const isInvalid = Object.keys(problems).length > 0;
  const calls = isRunning ? [] : openCalls(inputOf(entries));
  const added = calls.length > 0 ? [] : itemsOf(draft);

  const send = (items: readonly Item[]): void => {
    if (isInvalid || isRunning || items.length === 0) return;
    setDraft(EMPTY_DRAFT);
    void run(items, (input) => requestBody(settings, input));
  };

  return (
    <>
      <PageHead title="Playground">
        <div class="actions chat-actions">
          <Button isDisabled={isInvalid} onPress={() => setIsCodeShown(true)}>
            Copy as code
          </Button>
          <Button isDisabled={entries.length === 0} onPress={clear}>
            New conversation
          </Button>
        </div>
      </PageHead>
      <div class="playground">
        <Card title="Conversation">
          {entries.length === 0 ? <Empty>Write a message to begin.</Empty> : null}
          <div
            class="chat"
            role="log"
            aria-label="Conversation"
            aria-busy={isRunning}
            tabIndex={0}
            ref={ref}
            onScroll={onScroll}
          >
            {entries.map((entry) =>
              entry.kind === 'input' ? (
                <ItemView key={entry.id} item={entry.item} />
              ) : (
                <AnswerView key={entry.id} answer={entry} />
              ),
            )}
          </div>
          {calls.length > 0 ? (
            <ToolOutputs key={calls[0]?.callId} calls={calls} onSend={send} />
          ) : (
            <Composer
              draft={draft}
              onDraft={setDraft}
              isRunning={isRunning}
              isDisabled={isInvalid || added.length === 0}
              onSend={() => send(added)}
              onStop={stop}
            />
          )}
        </Card>
        <Card title="Request">
          <SettingsForm settings={settings} problems={problems} models={models} onChange={setSettings} />
        </Card>
      </div>
      {isCodeShown ? (
        <CodeDialog
          body={requestBody(settings, [...inputOf(entries), ...added])}
          onClose={() => setIsCodeShown(false)}
        />
      ) : null}
    </>
  );
};
