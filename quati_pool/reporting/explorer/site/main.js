"use strict";

explorer.start(document.getElementById("root"), explorer.files("data/"));
