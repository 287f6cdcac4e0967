import './valid-language.ts';
import UPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

export { UPlot };
