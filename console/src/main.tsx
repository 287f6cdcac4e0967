import { render } from 'preact';

import { App } from './app.tsx';
import './styles/tokens.css';
import './styles/base.css';
import './styles/layout.css';
import './styles/components.css';
import './styles/forms.css';
import './styles/chart.css';

const root = document.querySelector('#app');
if (root !== null) render(<App />, root);
