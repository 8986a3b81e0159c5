// Words for sizes, times and kinds of files.  Knows nothing of the page.

const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
const COUNT = new Intl.NumberFormat("en");
const KINDS = ["Pictures", "Video", "Audio", "Documents", "Archives", "Disk images", "Code and text", "Other"];
const OTHER = KINDS.length - 1;
const ENDINGS = [
  "jpg jpeg jfif png gif webp avif bmp ico heic heif tif tiff raw cr2 cr3 nef arw dng orf rw2 raf psd xcf svg",
  "mp4 m4v mkv mov avi webm wmv flv mpg mpeg ts m2ts mts vob 3gp ogv",
  "mp3 flac wav aac m4a ogg opus wma aif aiff alac ape mid",
  "pdf doc docx odt rtf xls xlsx ods ppt pptx odp epub mobi djvu pages numbers key",
  "zip 7z rar tar gz tgz bz2 xz zst lz4 cab jar deb rpm apk whl",
  "iso img dmg vmdk vdi vhd vhdx qcow2 wim",
  "txt md csv json xml html css js py c h cpp rs go java sh sql log yml yaml toml ini",
];
const KIND_OF = new Map(ENDINGS.flatMap((endings, kind) => endings.split(" ").map((ending) => [ending, kind])));
const SHOWABLE = new Set("jpg jpeg jfif png gif webp avif bmp ico".split(" "));

function sizeText(bytes) {
  let value = bytes;
  let unit = 0;
  while (value >= 1023.95 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return unit === 0 ? countText(Math.round(value), "byte", "bytes") : `${value.toFixed(1)} ${UNITS[unit]}`;
}

function countText(number, one, many) {
  return `${COUNT.format(number)} ${number === 1 ? one : many}`;
}

function percentText(part, whole) {
  const percent = whole > 0 ? (100 * part) / whole : 0;
  return percent >= 10 || percent === 0
    ? `${Math.round(percent)} %`
    : percent < 0.1
      ? "< 0.1 %"
      : `${percent.toFixed(1)} %`;
}

const twoDigits = (number) => String(number).padStart(2, "0");

function timeText(microseconds, withTime) {
  const time = new Date(microseconds / 1000);
  if (Number.isNaN(time.getTime())) return "unknown";
  const day = `${time.getFullYear()}-${twoDigits(time.getMonth() + 1)}-${twoDigits(time.getDate())}`;
  const clock = `${twoDigits(time.getHours())}:${twoDigits(time.getMinutes())}:${twoDigits(time.getSeconds())}`;
  return withTime ? `${day} ${clock}` : day;
}

function endingOf(name) {
  const dot = name.lastIndexOf(".");
  return dot > 0 && name.length - dot <= 9 ? name.slice(dot + 1).toLowerCase() : "";
}

function kindOf(ending) {
  return KIND_OF.get(ending) ?? OTHER;
}
