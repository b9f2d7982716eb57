// Search in pages that are opened from the disk: there, browsers start no worker, so a hidden frame
// runs its script. mkdocs.yml loads this file instead of one from the network.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", {data}));
      const script = inside.document.createElement("script");
      script.src = url;
      this.loaded = new Promise((resolve) => (script.onload = resolve));
      inside.document.body.append(script);
    }
    postMessage(data) {
      const message = new MessageEvent("message", {data});
      this.loaded.then(() => this.frame.contentWindow.dispatchEvent(message));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
