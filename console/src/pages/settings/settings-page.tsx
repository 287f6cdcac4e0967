import { PageHead } from '../../components/page-head.tsx';
import { Empty } from '../../components/states.tsx';

/** The settings of the server, read only. */
export const SettingsPage = () => (
  <>
    <PageHead title="Settings" />
    <Empty>Nothing is shown here yet.</Empty>
  </>
);
